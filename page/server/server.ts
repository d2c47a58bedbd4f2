import type { CommandError, InspectorState, PageCommands } from '../../src/inspect/page-server/page-api.ts';

type Argument<Name extends keyof PageCommands> = Parameters<PageCommands[Name]>[0];
type Result<Name extends keyof PageCommands> = Awaited<ReturnType<PageCommands[Name]>>;

/** This page's server. */
export class Server {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  /**
   * Sends a command.
   *
   * @throws Error with the reason if it is refused.
   */
  async send<Name extends keyof PageCommands>(command: Name, argument: Argument<Name>): Promise<Result<Name>> {
    const response = await this.#fetch(`/api/${command}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(argument),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(reasonOf(text));
    return (text === '' ? undefined : JSON.parse(text)) as Result<Name>;
  }

  /** The state, and again after each change, until the server ends. */
  async *states(): AsyncGenerator<InspectorState, void, undefined> {
    for await (const line of linesOf(await this.#fetch('/api/state'))) yield JSON.parse(line) as InspectorState;
  }

  /** The lines of a recording: the header, and a line for each record after a number. */
  async *records(after: number): AsyncGenerator<string, void, undefined> {
    yield* linesOf(await this.#fetch(`/api/records?after=${after}`));
  }

  #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('everwire-key', this.#key);
    return fetch(path, { ...init, headers });
  }
}

function reasonOf(text: string): string {
  try {
    return (JSON.parse(text) as CommandError).error;
  } catch {
    return text;
  }
}

async function* linesOf(response: Response): AsyncGenerator<string, void, undefined> {
  if (!response.ok) throw new Error(reasonOf(await response.text()));
  let rest = '';
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}
