import { Deferred } from './deferred.ts';
import { inTurns } from './in-turns.ts';
import { waitFor } from './wait.ts';

interface Turn {
  readonly bytes: number;
  readonly begins: Deferred;
  /** When its wait ends, by `performance.now()`. */
  readonly until: number;
}

interface Line {
  count: number;
  bytes: number;
  readonly waiting: Set<Turn>;
}

/** Limits what one share does at a time. What is more waits in line behind the rest of its share, and not of others. */
export class ShareLine {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #maxWait: number;
  readonly #lines = new Map<string, Line>();
  #look: ReturnType<typeof setInterval> | undefined;

  /**
   * @param maxBytes a single piece of work may have more.
   * @param maxWait about how long work may wait in line, in milliseconds.
   */
  constructor(maxCount: number, maxBytes: number, maxWait: number) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
    this.#maxWait = maxWait;
  }

  /**
   * Does some work when the share has room for it.
   *
   * @param signal ends the wait in line.
   * @throws (rejects) the reason of the signal, or an error after `maxWait`, if the wait has ended before. Then the work
   * did not begin.
   */
  async within<T>(share: string, bytes: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(share) ?? { count: 0, bytes: 0, waiting: new Set() };
    this.#lines.set(share, line);
    if (line.waiting.size === 0 && this.#hasRoom(line, bytes)) begin(line, bytes);
    else await this.#wait(share, line, bytes, signal);
    try {
      return await work();
    } finally {
      this.#end(share, line, bytes);
    }
  }

  async #wait(share: string, line: Line, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    const turn = { bytes, begins: new Deferred(), until: performance.now() + this.#maxWait };
    line.waiting.add(turn);
    this.#look ??= setInterval(() => this.#endWaits(), this.#maxWait / 10).unref();
    try {
      await waitFor(turn.begins.promise, { signal });
    } catch (error) {
      // Its turn may have come in the same moment.
      if (line.waiting.delete(turn)) this.#next(share, line);
      else this.#end(share, line, bytes);
      throw error;
    }
  }

  /** Thousands may have waited for the same time, so they do not all fail in one turn of the event loop. */
  #endWaits(): void {
    const now = performance.now();
    const over: Turn[] = [];
    let left = 0;
    for (const { waiting } of this.#lines.values()) {
      left += waiting.size;
      // Those that came first are first.
      for (const turn of waiting) {
        if (turn.until > now) break;
        over.push(turn);
      }
    }
    if (left === 0) {
      clearInterval(this.#look);
      this.#look = undefined;
    }
    void inTurns(over, ({ begins }) => begins.reject(new Error(`Timed out after ${this.#maxWait} ms`)));
  }

  #hasRoom({ count, bytes: held }: Line, bytes: number): boolean {
    return count < this.#maxCount && (held === 0 || held + bytes <= this.#maxBytes);
  }

  #end(share: string, line: Line, bytes: number): void {
    line.count -= 1;
    line.bytes -= bytes;
    this.#next(share, line);
  }

  #next(share: string, line: Line): void {
    for (const turn of line.waiting) {
      if (!this.#hasRoom(line, turn.bytes)) return;
      line.waiting.delete(turn);
      begin(line, turn.bytes);
      turn.begins.resolve();
    }
    if (line.count === 0) this.#lines.delete(share);
  }
}

function begin(line: Line, bytes: number): void {
  line.count += 1;
  line.bytes += bytes;
}
