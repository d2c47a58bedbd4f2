/** Answers that are on their way to one server at a time. Those beyond them wait. */
const MAX_IN_FLIGHT = 32;

/**
 * The answers to what a server asks, each of which is a POST of its own. While some wait, the streams of the server are
 * not read: a server that asks faster than it takes answers holds back itself only.
 */
export class AnswersInFlight {
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  /** The first of those that still wait. */
  #first = 0;
  #readers: (() => void)[] = [];

  /** Resolves when no answer waits; undefined if none does. */
  caughtUp(): Promise<void> | undefined {
    if (this.#waiting.length === 0) return undefined;
    return new Promise((resolve) => void this.#readers.push(resolve));
  }

  /** Sends an answer, after those that wait. */
  async send(post: () => Promise<void>): Promise<void> {
    if (this.#inFlight < MAX_IN_FLIGHT) this.#inFlight += 1;
    else await this.#turn();
    try {
      await post();
    } finally {
      this.#next();
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #next(): void {
    const next = this.#waiting[this.#first];
    if (!next) {
      this.#inFlight -= 1;
      return;
    }
    this.#first += 1;
    next();
    if (this.#first < this.#waiting.length) return;
    this.#waiting = [];
    this.#first = 0;
    for (const resume of this.#readers.splice(0)) resume();
  }
}
