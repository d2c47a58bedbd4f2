import { idlePause } from './wait.ts';

/** The first pause after a failure. Each one is twice as long. Milliseconds. */
const PAUSE = 1000;

/**
 * Work that may fail, and is repeated until it is done. It runs once at a time. What asks for it meanwhile makes it run
 * once more.
 */
export class UntilDone {
  readonly #work: () => Promise<void>;
  readonly #onfailure: (error: unknown) => void;
  readonly #maxPause: number;
  #wanted = false;
  #running = false;
  #closed = false;

  /**
   * @param onfailure gets the first failure after a success.
   * @param maxPause the longest pause after a failure. Milliseconds.
   */
  constructor(work: () => Promise<void>, onfailure: (error: unknown) => void, maxPause = 60_000) {
    this.#work = work;
    this.#onfailure = onfailure;
    this.#maxPause = maxPause;
  }

  /** Runs the work, after the current turn of the event loop has gone on. */
  ask(): void {
    this.#wanted = true;
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#run());
  }

  /** The work is not repeated any more. */
  close(): void {
    this.#closed = true;
  }

  async #run(): Promise<void> {
    let wait = PAUSE;
    while (this.#wanted && !this.#closed) {
      this.#wanted = false;
      try {
        await this.#work();
        wait = PAUSE;
      } catch (error) {
        if (this.#closed) break;
        if (wait === PAUSE) this.#onfailure(error);
        this.#wanted = true;
        await idlePause(wait);
        wait = Math.min(wait * 2, this.#maxPause);
      }
    }
    this.#running = false;
  }
}
