import type { BreakpointCommands } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import type { CommandError, PageCommands } from '../../src/inspect/page-server/page-api.ts';
import type { SessionCommands } from '../../src/inspect/page-server/session-api.ts';

/** When a page has lost its server. */
export const LOST =
  'The inspector has ended or does not respond. Start Everwire again, and open the URL that it prints.';

type Commands = PageCommands & BreakpointCommands & SessionCommands;
type Argument<Name extends keyof Commands> = Parameters<Commands[Name]>[0];
type Result<Name extends keyof Commands> = Awaited<ReturnType<Commands[Name]>>;

/** The server refused a command. The message says why. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** This page's server. */
export class Server {
  readonly #key: string;
  /** Requests that wait for their outcomes, by key. */
  readonly #waiting = new Map<string, { resolve(): void; reject(error: Error): void }>();
  /** Why there will be no stream any more. Without one, the page does not hear that a request has ended. */
  #ended: string | undefined;

  constructor(key: string) {
    this.#key = key;
  }

  /**
   * Sends a command.
   *
   * @throws RefusedError if it is refused.
   * @throws Error if the server cannot be reached.
   */
  async send<Name extends keyof Commands>(command: Name, argument: Argument<Name>): Promise<Result<Name>> {
    const text = await (await this.post(command, argument)).text();
    return (text === '' ? undefined : JSON.parse(text)) as Result<Name>;
  }

  /** The same for a result that may be too long to parse. Only a `request` that was not sent fails with a `RefusedError`. */
  async post<Name extends keyof Commands>(command: Name, argument: Argument<Name>): Promise<Response> {
    if (command !== 'request') return this.#post(command, argument);
    if (this.#ended !== undefined) throw new RefusedError(this.#ended);
    const { key } = argument as Argument<'request'>;
    try {
      const finished = new Promise<void>((resolve, reject) => this.#waiting.set(key, { resolve, reject }));
      finished.catch(() => {});
      await this.#post(command, argument);
      await finished;
    } finally {
      this.#waiting.delete(key);
    }
    return this.#post('outcome', { key }).catch((cause: unknown) => {
      throw new Error((cause as Error).message, { cause });
    });
  }

  #post(command: string, argument: object): Promise<Response> {
    return this.#fetch(`/api/${command}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(argument),
    });
  }

  /**
   * The lines of a stream until the server ends: those of a recording, for each record after a number, and a line with
   * the state, again after each change.
   */
  async *stream(after: number): AsyncGenerator<readonly string[], void, undefined> {
    yield* linesOf(await this.#fetch(`/api/stream?after=${after}`));
  }

  /**
   * To be called when a stream has ended. The outcomes of requests that run are lost.
   *
   * @param reason why there will be no other stream. Further requests are then refused.
   */
  streamEnded(reason?: string): void {
    this.#ended = reason;
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(reason ?? LOST));
  }

  /** To be called with the keys of requests that have ended. */
  finish(keys: readonly string[]): void {
    for (const key of keys) this.#waiting.get(key)?.resolve();
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('everwire-key', this.#key);
    const response = await fetch(path, { ...init, headers }).catch((cause: unknown) => {
      throw new Error(LOST, { cause });
    });
    if (!response.ok) throw new RefusedError(reasonOf(await response.text()));
    return response;
  }
}

function reasonOf(text: string): string {
  try {
    return (JSON.parse(text) as CommandError).error;
  } catch {
    return text;
  }
}

/** The lines of a body, in batches. */
async function* linesOf(response: Response): AsyncGenerator<readonly string[], void, undefined> {
  let rest = '';
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    yield lines;
  }
}
