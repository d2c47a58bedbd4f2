import { Deferred } from '../../base/deferred.ts';
import { idlePause, nextTurn } from '../../base/wait.ts';
import type { NodeId } from '../bus.ts';
import type { Envelope } from './bus-messages.ts';
import { ANSWER, TAKE } from './bus-scripts.ts';
import { CommandRefused, type Commands } from './commands.ts';

/** How long one read waits for messages. Milliseconds. */
const BLOCK = 1000;
/** How many envelopes one read returns. */
const PORTION = 32;
/** The pause after a read that has failed. Milliseconds. */
const PAUSE = 200;
/** Other work goes on after an envelope of this size. */
const LARGE = 64 * 1024;

/** What the inbox needs to know of its node, and what it may use. */
export interface InboxParts {
  readonly node: NodeId;
  readonly commands: Commands;
  /** Sends its commands over a connection of its own, on which Redis may wait. */
  readonly reader: Commands;
  /** Milliseconds after which a command of the reader has failed. */
  readonly timeout: number;
  /** Reads an entry. Undefined if there is nothing in it to handle. */
  readonly open: (text: string, mac: string) => Envelope | undefined;
  /** Whether an envelope may be handled though its sender may have withdrawn it. */
  readonly isUnconditional: (envelope: Envelope) => boolean;
  readonly handle: (envelope: Envelope) => void;
  /** Called if Redis refuses a command of the reader, and again only after it has answered one. */
  readonly onrefused: (error: Error) => void;
}

interface Entry {
  readonly id: string;
  /** Whether its sender says that there are only answers in it. Anybody may have written that. */
  readonly isAnswer: boolean;
  readonly text: string;
  readonly mac: string;
}

interface Opened {
  readonly id: string;
  readonly length: number;
  readonly envelope: Envelope;
}

/** Reads the messages of other processes, and removes them from Redis. */
export class Inbox {
  readonly #parts: InboxParts;
  #refused: CommandRefused | undefined;
  /** Resolves when all that was read is handled. */
  #handled = new Deferred();
  #closed = false;

  constructor(parts: InboxParts) {
    this.#parts = parts;
    this.#handled.resolve();
    void this.#read();
  }

  /** Why Redis does not let this node read, in a few words. Undefined if it does, or has not answered yet. */
  get refusal(): string | undefined {
    return this.#refused?.reason;
  }

  /** Resolves when all that was read and removed until now is handled. */
  get handled(): Promise<void> {
    return this.#handled.promise;
  }

  /** Reads nothing more, and handles nothing more. */
  close(): void {
    this.#closed = true;
  }

  async #read(): Promise<void> {
    const { handle } = this.#parts;
    let reading = this.#next();
    for (let n = 1; !this.#closed; n += 1) {
      const entries = await reading;
      this.#handled = new Deferred();
      let taking!: Promise<ReadonlySet<unknown>>;
      const take = (): void => {
        taking = this.#take(n, entries);
        // Redis removes before it reads, because both commands are on one connection.
        reading = this.#next();
      };
      // Commands are written at the end of a turn, and this process may lose its processor to Redis then. So calls are opened
      // after that, while Redis removes them. But clients get their answers before.
      const onlyAnswers = entries.every(({ isAnswer }) => isAnswer);
      if (!onlyAnswers) {
        take();
        await nextTurn();
      }
      if (this.#closed) return;
      const opened = await this.#open(entries);
      if (this.#closed) return;
      if (onlyAnswers) {
        // They reach the code that writes them in one turn, and that writes at the end of the turn.
        await nextTurn();
        await nextTurn();
        if (this.#closed) return;
        take();
      }
      const taken = await taking;
      for (const { id, length, envelope } of opened) {
        if (this.#closed) return;
        if (!taken.has(id)) continue;
        handle(envelope);
        if (length > LARGE) await nextTurn();
      }
      this.#handled.resolve();
    }
  }

  /**
   * Removes entries from Redis. This process may have been suspended after Redis had written them to the connection.
   *
   * @returns the ids of those that nobody had removed before.
   */
  async #take(n: number, entries: readonly Entry[]): Promise<ReadonlySet<unknown>> {
    const { node, reader } = this.#parts;
    if (entries.length === 0) return new Set();
    const about = entries.flatMap(({ id, text }) => [id, Buffer.byteLength(text)]);
    const reply = await this.#untilAnswered(() => reader.run(TAKE, node, n, ...about));
    // Who can write to Redis can also change the reply.
    return new Set(Array.isArray(reply) ? (reply as unknown[]) : []);
  }

  /** Handles what may be handled at once. Returns what may be handled when it is taken. */
  async #open(entries: readonly Entry[]): Promise<Opened[]> {
    const { open, isUnconditional, handle } = this.#parts;
    const opened: Opened[] = [];
    for (const { id, text, mac } of entries) {
      if (this.#closed) break;
      const envelope = open(text, mac);
      if (envelope && isUnconditional(envelope)) handle(envelope);
      else if (envelope) opened.push({ id, length: text.length, envelope });
      if (text.length > LARGE) await nextTurn();
    }
    return opened;
  }

  async #next(): Promise<readonly Entry[]> {
    const { node, commands, reader, timeout } = this.#parts;
    const block = String(Math.max(1, Math.min(BLOCK, Math.floor(timeout / 2))));
    // The inbox contains only what was not taken, so each read begins at its beginning.
    const read = ['XREAD', 'COUNT', String(PORTION), 'BLOCK', block, 'STREAMS', commands.key(`in:${node}`), '0'];
    return (await this.#untilAnswered(async () => entriesIn(await reader.send([...read])))) ?? [];
  }

  /**
   * Repeats a question until Redis answers. The other commands report that it cannot be reached. Undefined if the inbox is
   * closed.
   */
  async #untilAnswered<T>(ask: () => Promise<T>): Promise<T | undefined> {
    while (!this.#closed) {
      try {
        const answer = await ask();
        this.#refused = undefined;
        return answer;
      } catch (error) {
        if (error instanceof CommandRefused) {
          if (!this.#refused && !this.#closed) this.#parts.onrefused(error);
          this.#refused = error;
        }
        await idlePause(PAUSE);
      }
    }
    return undefined;
  }
}

/** The entries of the only stream in a reply to XREAD. In RESP2, the reply is a list of pairs. In RESP3, it is a map. */
function entriesIn(reply: unknown): Entry[] {
  if (reply === null || reply === undefined) return [];
  const [entries] = Array.isArray(reply)
    ? reply.map((pair: unknown[]) => pair[1])
    : reply instanceof Map
      ? [...reply.values()]
      : Object.values(reply);
  return (entries as [id: string, fields: unknown[]][]).map(([id, [name, text, , mac]]) => ({
    id,
    isAnswer: name === ANSWER,
    text: String(text),
    mac: String(mac),
  }));
}
