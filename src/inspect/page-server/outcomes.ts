import { CommandRefused } from './command-refused.ts';
import type { PageCommands, RequestCommand, RequestOutcome } from './page-api.ts';
import type { StateFeed } from './state-feed.ts';

/**
 * How much text of outcomes may wait for the page, in UTF-16 code units. Above this, the oldest outcomes are dropped.
 */
const MAX_SIZE = 256 * 1024 * 1024;
const DROPPED: RequestOutcome = {
  error: { message: 'The result was dropped, because too many results waited for the page.' },
  duration: 0,
};

/** Keeps the outcomes of requests until the page fetches them. */
export class Outcomes {
  readonly #feed: StateFeed;
  readonly #commands: PageCommands;
  readonly #running = new Set<string>();
  /** The outcomes as JSON, by key. */
  readonly #finished = new Map<string, string>();
  #size = 0;

  constructor(feed: StateFeed, commands: PageCommands) {
    this.#feed = feed;
    this.#commands = commands;
  }

  /** Sends a request. @throws CommandRefused if it cannot be sent. */
  async start(request: RequestCommand): Promise<void> {
    const { key } = request;
    if (this.#running.has(key) || this.#finished.has(key))
      throw new CommandRefused(409, `A request ${JSON.stringify(key)} already exists.`);
    const outcome = this.#commands.request(request);
    this.#running.add(key);
    const refused = outcome.then(
      (value) => this.#finish(key, value),
      (error: unknown) => {
        this.#running.delete(key);
        throw error;
      },
    );
    // A request that cannot be sent is refused at once.
    await Promise.race([refused, new Promise(setImmediate)]);
    refused.catch(() => {});
  }

  /** Returns the outcome of a request as JSON, and forgets it. @throws CommandRefused if there is none. */
  take(key: string): string {
    const outcome = this.#finished.get(key);
    if (outcome === undefined) throw new CommandRefused(409, `There is no outcome of ${JSON.stringify(key)}.`);
    this.#finished.delete(key);
    this.#size -= outcome.length;
    this.#show();
    return outcome;
  }

  /** Called when no page is open any more, so nobody will fetch an outcome. */
  abandon(): void {
    for (const key of this.#running) this.#commands.cancel({ key });
    this.#running.clear();
    this.#finished.clear();
    this.#size = 0;
    this.#show();
  }

  #finish(key: string, outcome: RequestOutcome): void {
    if (!this.#running.delete(key)) return;
    const text = JSON.stringify(outcome);
    this.#size += text.length;
    const dropped = JSON.stringify(DROPPED);
    for (const [oldest, { length }] of this.#finished) {
      if (this.#size <= MAX_SIZE) break;
      this.#finished.set(oldest, dropped);
      this.#size -= length - dropped.length;
    }
    this.#finished.set(key, text);
    this.#show();
  }

  #show(): void {
    this.#feed.update({ finished: [...this.#finished.keys()] });
  }
}
