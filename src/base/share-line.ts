import { Deferred } from './deferred.ts';
import { waitFor, type WaitLimits } from './wait.ts';

interface Turn {
  readonly bytes: number;
  readonly begins: Deferred;
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
  readonly #lines = new Map<string, Line>();

  /** @param maxBytes a single piece of work may have more. */
  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
  }

  /**
   * Does some work when the share has room for it.
   *
   * @param limits of the wait in line.
   * @throws (rejects) as `waitFor` if the wait has ended before. Then the work did not begin.
   */
  async within<T>(share: string, bytes: number, limits: WaitLimits, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(share) ?? { count: 0, bytes: 0, waiting: new Set() };
    this.#lines.set(share, line);
    if (line.waiting.size === 0 && this.#hasRoom(line, bytes)) begin(line, bytes);
    else await this.#wait(share, line, bytes, limits);
    try {
      return await work();
    } finally {
      this.#end(share, line, bytes);
    }
  }

  async #wait(share: string, line: Line, bytes: number, limits: WaitLimits): Promise<void> {
    const turn = { bytes, begins: new Deferred() };
    line.waiting.add(turn);
    try {
      await waitFor(turn.begins.promise, limits);
    } catch (error) {
      // Its turn may have come in the same moment.
      if (line.waiting.delete(turn)) this.#next(share, line);
      else this.#end(share, line, bytes);
      throw error;
    }
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
