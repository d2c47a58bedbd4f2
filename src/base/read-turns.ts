import { inNextTurn } from './next-turn.ts';
import { ShareCounts } from './share.ts';

/** How much text one reader reads at a time. A longer message is read whole. */
export const SLICE = 64 * 1024;
/** How much text is read in one turn of the event loop. */
const PER_TURN = 4 * SLICE;
/** How many reads of one share run at a time. They take time only if what is read is at another process. */
const PER_SHARE = 8;

/**
 * Lets many readers read long texts in slices, a few in each turn of the event loop, so that everything else goes on in
 * between. The shares (`shareOf`) take turns: a thousand readers of one do not keep those of others waiting.
 */
export class ReadTurns {
  #room = PER_TURN;
  #hasNextTurn = false;
  /** Those that wait, by share. The share that has waited longest since its last read comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new ShareCounts();

  /**
   * Reads when the turn of the share comes.
   *
   * @param read reads at most a slice, and resolves with how much it has read.
   */
  async run(share: string, read: () => Promise<number>): Promise<void> {
    const turn = new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(share);
      if (waiting) waiting.push(resolve);
      else this.#waiting.set(share, [resolve]);
    });
    this.#goOn();
    await turn;
    let length = 0;
    try {
      length = await read();
    } finally {
      this.#running.remove(share);
      this.#room = Math.min(PER_TURN, this.#room + SLICE - length);
      this.#goOn();
    }
  }

  /** Lets those read who wait, as long as there is room in this turn. */
  #goOn(): void {
    for (const [share, waiting] of this.#waiting) {
      if (this.#room < SLICE) break;
      if (this.#running.of(share) >= PER_SHARE) continue;
      const next = waiting.shift()!;
      this.#running.add(share);
      this.#room -= SLICE;
      // The map is read in its order, so this share comes again after all others.
      this.#waiting.delete(share);
      if (waiting.length > 0) this.#waiting.set(share, waiting);
      next();
    }
    if (this.#hasNextTurn || this.#room === PER_TURN) return;
    this.#hasNextTurn = true;
    inNextTurn(() => {
      this.#hasNextTurn = false;
      this.#room = PER_TURN;
      this.#goOn();
    });
  }
}
