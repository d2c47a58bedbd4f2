import { request, type IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';
import type { BreakpointCommands, BreakpointState } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import type { InspectorState, PageCommands } from '../../src/inspect/page-server/page-api.ts';
import { startEverwire } from './command-line.ts';
import type { RunningProcess } from './process.ts';
import { readRecordStream, type RecordStream } from './record-stream.ts';

type Commands = PageCommands & BreakpointCommands;
type Argument<Name extends keyof Commands> = Parameters<Commands[Name]>[0];
type Result<Name extends keyof Commands> = Awaited<ReturnType<Commands[Name]>>;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What a page does, without a browser. */
export class PageClient {
  readonly #origin: string;
  readonly #port: string;
  #key = '';
  #present: IncomingMessage | undefined;

  constructor(origin: string) {
    this.#origin = origin;
    this.#port = new URL(origin).port;
  }

  /** Exchanges the token of a printed address. */
  static async open(address: string): Promise<PageClient> {
    const { origin, hash } = new URL(address);
    const page = new PageClient(origin);
    const { status, text } = await page.post('/api/key', '', { 'everwire-token': hash.slice(1) });
    if (status !== 200) throw new Error(text);
    page.#key = (JSON.parse(text) as { key: string }).key;
    return page;
  }

  async post(path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await this.#send('POST', path, { 'content-type': 'application/json', ...headers }, body);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode!, text: Buffer.concat(chunks).toString() };
  }

  /** @throws Error with the status and the reason if it is refused. */
  async command<Name extends keyof Commands>(name: Name, argument: Argument<Name>): Promise<Result<Name>> {
    const { status, text } = await this.post(`/api/${name}`, JSON.stringify(argument));
    if (status >= 300) throw new Error(`${status}: ${(JSON.parse(text) as { error: string }).error}`);
    return (text === '' ? undefined : JSON.parse(text)) as Result<Name>;
  }

  /** Keeps the page open until the test ends. */
  async stay(): Promise<void> {
    this.#present ??= (await this.stream('/api/stream')).resume();
  }

  /** The state of the breakpoints when it fits. */
  async held(fits: (state: BreakpointState) => unknown): Promise<BreakpointState> {
    const { breakpoints } = await this.until(({ breakpoints: state }) => state && fits(state));
    return breakpoints!;
  }

  /** Sends a request with these parameters, and waits for its outcome. */
  async request(method: string, params: object = {}, key = method): Promise<Result<'request'>> {
    // A page always has this stream. Without one, requests are cancelled.
    await this.stay();
    const finished = this.until((state) => state.finished?.includes(key));
    await this.command('request', { key, method, params: JSON.stringify(params) });
    await finished;
    const { text } = await this.post('/api/outcome', JSON.stringify({ key }));
    return JSON.parse(text) as Result<'request'>;
  }

  async *states(): AsyncGenerator<InspectorState, void> {
    const response = (await this.stream('/api/stream')).setEncoding('utf8');
    let rest = '';
    try {
      for await (const text of response) {
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        for (const line of lines)
          if (line.startsWith('{"state":')) yield (JSON.parse(line) as { state: InspectorState }).state;
      }
    } catch (error) {
      // The inspector has ended.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    }
  }

  /** The first state that fits. */
  async until(fits: (state: InspectorState) => unknown): Promise<InspectorState> {
    let last: InspectorState | undefined;
    for await (const state of this.states()) {
      last = state;
      if (fits(state)) return state;
    }
    throw new Error(`no such state before the end: ${JSON.stringify(last)}`);
  }

  /** The state when connecting is over. */
  settled(): Promise<InspectorState> {
    return this.until(({ connection: { status } }) => status !== 'connecting' && status !== 'idle');
  }

  async records(after = 0): Promise<RecordStream> {
    return readRecordStream(await this.stream(`/api/stream?after=${after}`));
  }

  async stream(path: string): Promise<IncomingMessage> {
    const response = await this.#send('GET', path, {});
    response.on('error', () => {});
    onTestFinished(() => void response.destroy());
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
    return response;
  }

  #send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...{ host: '127.0.0.1', port: this.#port, method, path, agent: false },
          headers: { origin: this.#origin, 'sec-fetch-site': 'same-origin', 'everwire-key': this.#key, ...headers },
        },
        resolve,
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

/** Starts `everwire` with these words, and opens the page that it prints. */
export async function startInspector(
  words: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<{ readonly child: RunningProcess; readonly page: PageClient; readonly address: string }> {
  const child = startEverwire(words, env);
  const [, address] = await child.line(/inspector on (http:\S+)/);
  return { child, page: await PageClient.open(address!), address: address! };
}
