/** How many answers may be on their way to one server at a time. Further ones wait. */
const MAX_IN_FLIGHT = 32;

/**
 * Sends the answers to a server's requests, each as its own POST. While some of them wait, the server's streams are not
 * read. So a server that sends requests faster than it accepts answers slows down only itself.
 */
export class AnswersInFlight {
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  /** The index of the first answer that still waits. */
  #first = 0;
  #readers: (() => void)[] = [];

  /** Resolves when no answer waits any more. Undefined if none waits now. */
  caughtUp(): Promise<void> | undefined {
    if (this.#waiting.length === 0) return undefined;
    return new Promise((resolve) => void this.#readers.push(resolve));
  }

  /** Sends an answer after those that already wait. */
  async send(post: () => Promise<void>): Promise<void> {
    if (this.#inFlight < MAX_IN_FLIGHT) this.#inFlight += 1;
    else await this.#waitForSlot();
    try {
      await post();
    } finally {
      this.#releaseSlot();
    }
  }

  #waitForSlot(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #releaseSlot(): void {
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
