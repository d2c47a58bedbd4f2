import { CommandRefused } from './command-arguments.ts';
import type { PageCommands, RequestCommand, RequestOutcome } from './page-api.ts';
import type { StateFeed } from './state-feed.ts';

/** How much text of outcomes waits until the page takes them, in UTF-16 code units. The oldest are given up. */
const MAX_SIZE = 256 * 1024 * 1024;
const GIVEN_UP: RequestOutcome = {
  error: { message: 'The result was given up, because too many results waited for the page.' },
  duration: 0,
};

/** The outcomes of requests, until the page takes them. */
export class Outcomes {
  readonly #feed: StateFeed;
  readonly #commands: PageCommands;
  readonly #running = new Set<string>();
  /** As JSON. */
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
      throw new CommandRefused(409, `There is a request ${JSON.stringify(key)} already.`);
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

  /** The outcome of a request, as JSON. It can be taken once. @throws CommandRefused if there is none. */
  take(key: string): string {
    const outcome = this.#finished.get(key);
    if (outcome === undefined) throw new CommandRefused(409, `There is no outcome of ${JSON.stringify(key)}.`);
    this.#finished.delete(key);
    this.#size -= outcome.length;
    this.#show();
    return outcome;
  }

  /** No page is open any more, so nobody takes an outcome. */
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
    const givenUp = JSON.stringify(GIVEN_UP);
    for (const [oldest, { length }] of this.#finished) {
      if (this.#size <= MAX_SIZE) break;
      this.#finished.set(oldest, givenUp);
      this.#size -= length - givenUp.length;
    }
    this.#finished.set(key, text);
    this.#show();
  }

  #show(): void {
    this.#feed.update({ finished: [...this.#finished.keys()] });
  }
}
