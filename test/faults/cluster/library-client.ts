import { connect as connectOurs } from 'everwire/client';
import { certainlyNotExecuted } from '../../../src/jsonrpc/error-chain.ts';
import type { Revision } from '../../../src/protocol/revisions.ts';
import { connect as connectOfficial, type ClientKind } from '../../interop/clients.ts';
import { callOf, RERUNNABLE } from './checkers.ts';
import type { Kind } from './cluster.ts';
import { StormClient, stepOf, type ClientParts } from './storm-client.ts';
import type { JsonObject } from './wire.ts';

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeout: number;
  readonly onprogress?: (progress: { progress: number; message?: string }) => void;
}

/** What a library can do. */
interface Library {
  call(tool: string, args: JsonObject, options: CallOptions): Promise<JsonObject>;
  setLevel(level: 'error'): Promise<void>;
  subscribe(uri: string): Promise<unknown>;
  close(): Promise<void>;
}

/** How a library asks its user and its model. */
interface Answering {
  elicit(params: JsonObject): JsonObject;
  sample(params: JsonObject): JsonObject;
}

type Connect = (parts: ClientParts, answering: Answering) => Promise<Library>;

/** A client that is a library: ours, or an official one. It hides most of the wire, and may repeat what did not run. */
export class LibraryClient extends StormClient {
  readonly #connect: Connect;
  readonly #hasTasks: boolean;
  readonly #isModern: boolean;
  readonly #isOfficial: boolean;
  readonly #isCounting: boolean;
  #connections = 0;

  /** @param target what is called: a server, or a bridge whose child counts calls. */
  constructor(parts: ClientParts, { name, connect, hasTasks, isModern }: LibraryKind, target: Kind = 'server') {
    super(parts);
    this.#connect = connect;
    this.#hasTasks = hasTasks;
    this.#isModern = isModern;
    this.#isOfficial = name.startsWith('official');
    this.#isCounting = target === 'bridge';
  }

  async live(): Promise<void> {
    const { random } = this.parts;
    while (!this.isOver) {
      let library: Library;
      try {
        library = await this.#connect(this.parts, this.#answering);
      } catch {
        await this.rest(300, 1500);
        continue;
      }
      const session = `${this.parts.name}@${(this.#connections += 1)}`;
      const uses = random.between(5, 40);
      for (let use = 0; use < uses && !this.isOver; use += 1) {
        const succeeded = await (this.#isCounting ? this.#count(library, session) : this.#use(library));
        // An application would connect again, too.
        if (!succeeded && random.next() < 0.5) break;
        await this.rest(10, 800);
      }
      if (!this.#isModern) this.parts.left.count += 1;
      await library.close().catch(() => {});
      if (this.#isCounting) this.write(session, { what: 'closed', why: 'left', text: '' });
    }
  }

  readonly #answering: Answering = {
    elicit: ({ message }) => {
      this.#asked(String(message));
      return { action: 'accept', content: { answer: String(message) } };
    },
    sample: ({ messages }) => {
      const text = String(messages[0].content.text);
      this.#asked(text);
      return { role: 'assistant', model: 'm', content: { type: 'text', text } };
    },
  };

  #asked(question: string): void {
    const about = callOf(question);
    if (this.isOwn(about)) this.write(about, { what: 'asked', question });
    else this.write(`${this.parts.name}@questions`, { what: 'foreign', message: question });
  }

  #step(about: string, message: string): void {
    if (STEP.test(message)) this.write(about, { what: 'step', ...stepOf(message) });
  }

  #use(library: Library): Promise<boolean> {
    const { random, name } = this.parts;
    const args = { steps: random.between(2, 12), ms: random.between(0, 400) };
    return random.weighted<() => Promise<boolean>>([
      [5, () => this.#call(library, 'note')],
      [3, () => this.#call(library, 'read')],
      [5, () => this.#call(library, 'count', args)],
      [2, () => this.#call(library, 'slow', { ms: random.between(500, 6000) })],
      [2, () => this.#call(library, 'slow', { ms: 60_000 }, args.ms)],
      [3, () => this.#call(library, 'ask')],
      [3, () => this.#call(library, 'ask-once')],
      [2, () => this.#call(library, 'sample')],
      [2, () => this.#call(library, 'touch', { uri: `storm://${name}` })],
      [this.#hasTasks ? 3 : 0, () => this.#call(library, 'job', { ms: random.between(100, 4000) })],
      [this.#hasTasks ? 1 : 0, () => this.#call(library, 'job', { ms: 60_000 }, args.ms)],
      [1, () => settled(library.setLevel('error'))],
      [1, () => settled(library.subscribe(`storm://${name}`))],
    ])();
  }

  #count(library: Library, session: string): Promise<boolean> {
    const { random } = this.parts;
    return random.weighted<() => Promise<boolean>>([
      [6, () => this.#call(library, 'add', { session })],
      [1, () => this.#call(library, 'slow', { ms: 60_000 }, random.between(0, 400))],
      [2, () => this.#call(library, 'ask-once')],
    ])();
  }

  async #call(library: Library, tool: string, args: JsonObject = {}, cancelAfter?: number): Promise<boolean> {
    const about = this.begin(tool, false, !this.#isOfficial);
    if (tool === 'job') this.parts.left.count += 1;
    const controller = new AbortController();
    const timer = cancelAfter === undefined ? undefined : setTimeout(() => controller.abort(), cancelAfter);
    try {
      const result = await library.call(
        tool,
        { call: about, ...args },
        {
          signal: controller.signal,
          timeout: this.#isOfficial ? OFFICIAL_TIMEOUT : this.parts.bound * 0.8,
          // Before 2025-03-26, progress has no message.
          onprogress: ({ progress, message = `${about}/${progress}` }) => this.#step(about, message),
        },
      );
      this.end(about, result['isError'] ? 'error' : 'result', String(result['content']?.[0]?.text ?? ''));
      return true;
    } catch (error) {
      const { message, name, code } = error as Error & { code?: unknown };
      // The clock of the library. 1.x has the code that the server has for a question that was not answered in time.
      const isLate = this.#isOfficial ? code === -32001 || code === 'REQUEST_TIMEOUT' : name === 'TimeoutError';
      if (controller.signal.aborted) this.end(about, 'cancelled', message);
      // A library may have repeated what is safe to repeat, and then the last attempt is what did not run.
      else this.end(about, isLate ? 'timeout' : 'error', message, certainlyNotExecuted(error) && !RERUNNABLE.has(tool));
      return controller.signal.aborted;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Official clients wait for a stream that they do not resume any more. Milliseconds. */
const OFFICIAL_TIMEOUT = 15_000;
/** A step of a handler. The official client 2.x adds some of its own. */
const STEP = /^c\d+-\d+\/\d+$/;

async function settled(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

export interface LibraryKind {
  readonly name: string;
  readonly connect: Connect;
  readonly hasTasks: boolean;
  readonly isModern: boolean;
}

/** Our client, with one revision. */
const ours = (revision: Revision): LibraryKind => ({
  name: `ours, ${revision}`,
  hasTasks: revision === '2026-07-28',
  isModern: revision === '2026-07-28',
  connect: async ({ name, url, sseUrl, bound }, { elicit, sample }) => {
    const isSse = revision === '2024-11-05';
    const client = await connectOurs(isSse ? { url: sseUrl() ?? url, transport: 'sse' } : { url, transport: 'http' }, {
      revision,
      clientInfo: { name, version: '1' },
      connectTimeout: bound / 2,
      onelicit: elicit as never,
      onsample: sample as never,
      onerror: () => {},
    });
    return {
      call: (tool, args, { timeout, ...options }) =>
        client.callTool(tool, args, { ...options, timeout, maxTimeout: timeout }),
      setLevel: (level) => client.setLogLevel(level),
      subscribe: (uri) => client.subscribe(uri, () => {}),
      close: () => client.close(),
    };
  },
});

const official = (kind: ClientKind, transport: 'http' | 'sse'): LibraryKind => ({
  name: `official, ${kind}, ${transport}`,
  hasTasks: false,
  isModern: kind === 'client 2.x modern',
  connect: async ({ name, url, sseUrl }, { elicit, sample }) => {
    const target = { stdio: [], url, sseUrl: sseUrl() ?? url };
    const client = await connectOfficial(kind, transport, target, { info: { name, version: '1' } });
    client.answers.elicitation = elicit;
    client.answers.sampling = sample;
    return {
      call: (tool, args, options) => client.callTool({ name: tool, arguments: args }, options),
      setLevel: (level) => client.setLevel(level),
      subscribe: (uri) => client.subscribe(uri),
      close: () => client.close(),
    };
  },
});

/** Clients of bridges. They do not open another session by themselves, which would have another child. */
export const COUNTING: readonly LibraryKind[] = [official('sdk 1.x', 'http'), official('client 2.x legacy', 'http')];

export const LIBRARIES: readonly LibraryKind[] = [
  ours('2025-11-25'),
  official('sdk 1.x', 'http'),
  ours('2026-07-28'),
  official('client 2.x legacy', 'http'),
  ours('2024-11-05'),
  official('client 2.x modern', 'http'),
  ours('2025-06-18'),
  official('sdk 1.x', 'sse'),
  ours('2025-03-26'),
];
