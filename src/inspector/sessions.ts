import type { Client } from '../client/client.ts';
import type { ClientOptions } from '../client/options.ts';
import { wholeText } from '../inspect/filter/pattern.ts';
import { MessageConnections } from '../inspect/message-connections.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import type { RecordSource } from '../inspect/page-server/record-stream.ts';
import type { SessionCommands, SessionComparison } from '../inspect/page-server/session-api.ts';
import type { WireRecord } from '../inspect/record.ts';
import type { RecordedSession } from '../replay/recorded-session.ts';

type Connect = (options: ClientOptions) => Promise<Client>;

/** Compares sessions for the page. The code for that is loaded when it is first used. */
export class Sessions implements SessionCommands {
  readonly #source: RecordSource;
  readonly #connector: () => Connect;
  #replay: AbortController | undefined;

  /**
   * @param source the records of this inspector.
   * @param connector returns what connects to the chosen server, for replays. Throws CommandRefused if there is none.
   */
  constructor(source: RecordSource, connector: () => Connect = refuseReplays) {
    this.#source = source;
    this.#connector = connector;
  }

  async compareSessions({
    before,
    after,
    ignore,
  }: Parameters<SessionCommands['compareSessions']>[0]): Promise<SessionComparison> {
    const first = await this.#session(before, 'The first session');
    const second = await this.#session(after, 'The second session');
    const { compareSessions } = await import('../replay/compare.ts');
    const compared = await refusing(() => compareSessions(first.calls, second.calls, { ignore }));
    return { ...compared, notes: [...first.notes, ...second.notes] };
  }

  async replaySession({
    before,
    ignore,
    call,
  }: Parameters<SessionCommands['replaySession']>[0]): Promise<SessionComparison> {
    const connect = this.#connector();
    if (this.#replay) throw new CommandRefused(409, 'A replay is running already.');
    const controller = new AbortController();
    this.#replay = controller;
    try {
      const { calls, notes } = await this.#session(before, 'The recording');
      const allowed = call.map((text) => wholeText([{ text, quoted: false }]));
      const [{ replay }, { checkIgnored }] = await Promise.all([
        import('../replay/replay.ts'),
        import('../replay/ignored.ts'),
      ]);
      await refusing(async () => checkIgnored(ignore));
      const mayCall = (name: string): boolean => allowed.some((fits) => fits(name));
      const replayed = await replay(calls, { connect, ignore, mayCall, signal: controller.signal });
      return { ...replayed, notes };
    } finally {
      this.#replay = undefined;
    }
  }

  endReplay(): void {
    this.#replay?.abort(new Error('The replay was ended.'));
  }

  async #session(text: string | undefined, name: string): Promise<RecordedSession> {
    const { recordedSession, sessionIn } = await import('../replay/recorded-session.ts');
    try {
      return text === undefined ? await sessionIn(this.#records(), name) : await recordedSession(bytesOf(text), name);
    } catch (error) {
      throw new CommandRefused(400, `${name} cannot be used: ${(error as Error).message}.`, { cause: error });
    }
  }

  /** The records until now. */
  async *#records(): AsyncGenerator<WireRecord, void> {
    const { newest } = this.#source;
    if (newest === 0) return;
    const connections = new MessageConnections();
    for await (const records of this.#source.records({}))
      for (const record of records) {
        if (connections.has(record)) yield record;
        if (record.n >= newest) return;
      }
  }
}

function refuseReplays(): never {
  throw new CommandRefused(409, 'A recording is shown here. To replay it, connect to a server.');
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}

/** @throws (rejects) CommandRefused for what a function throws. */
async function refusing<Value>(run: () => Promise<Value>): Promise<Value> {
  try {
    return await run();
  } catch (cause) {
    throw new CommandRefused(400, `${(cause as Error).message}.`, { cause });
  }
}
