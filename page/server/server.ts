import type { CommandError, InspectorState, PageCommands } from '../../src/inspect/page-server/page-api.ts';

type Argument<Name extends keyof PageCommands> = Parameters<PageCommands[Name]>[0];
type Result<Name extends keyof PageCommands> = Awaited<ReturnType<PageCommands[Name]>>;

/** The server refused a command. The message says why. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** This page's server. */
export class Server {
  readonly #key: string;
  /** Requests that wait for their outcomes, by key. */
  readonly #waiting = new Map<string, { resolve(): void; reject(error: Error): void }>();

  constructor(key: string) {
    this.#key = key;
  }

  /**
   * Sends a command.
   *
   * @throws RefusedError if it is refused.
   * @throws Error if the server cannot be reached.
   */
  async send<Name extends keyof PageCommands>(command: Name, argument: Argument<Name>): Promise<Result<Name>> {
    const text = await (await this.post(command, argument)).text();
    return (text === '' ? undefined : JSON.parse(text)) as Result<Name>;
  }

  /** The same for a result that may be too long to parse. */
  async post<Name extends keyof PageCommands>(command: Name, argument: Argument<Name>): Promise<Response> {
    if (command !== 'request') return this.#post(command, argument);
    const { key } = argument as Argument<'request'>;
    try {
      const finished = new Promise<void>((resolve, reject) => this.#waiting.set(key, { resolve, reject }));
      finished.catch(() => {});
      await this.#post(command, argument);
      await finished;
    } finally {
      this.#waiting.delete(key);
    }
    return this.#post('outcome', { key });
  }

  #post(command: string, argument: object): Promise<Response> {
    return this.#fetch(`/api/${command}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(argument),
    });
  }

  /** The state, and again after each change, until the server ends. */
  async *states(): AsyncGenerator<InspectorState, void, undefined> {
    try {
      for await (const lines of linesOf(await this.#fetch('/api/state'))) {
        // Only the newest matters.
        const line = lines.at(-1);
        if (line === undefined) continue;
        const state = JSON.parse(line) as InspectorState;
        for (const key of state.finished ?? []) this.#waiting.get(key)?.resolve();
        yield state;
      }
    } finally {
      // The server has cancelled them.
      for (const waiting of this.#waiting.values())
        waiting.reject(new Error('The inspector does not respond. Check that Everwire is still running.'));
    }
  }

  /** The lines of a recording, as they come: the header, and a line for each record after a number. */
  async *records(after: number): AsyncGenerator<readonly string[], void, undefined> {
    yield* linesOf(await this.#fetch(`/api/records?after=${after}`));
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('everwire-key', this.#key);
    const response = await fetch(path, { ...init, headers });
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
