import { Deferred } from '../base/deferred.ts';
import { FewPerTurn } from '../base/few-per-turn.ts';
import { waitFor } from '../base/wait.ts';

/** How many calls begin in one turn of the event loop. */
const BEGIN_TOGETHER = 100;

/** What one client does together. */
export interface Turn {
  readonly key: object | string;
  /** Resolves when all turns before it are over. */
  readonly begins: Promise<void>;
  /** How many calls have not ended. */
  calls: number;
  readonly over: Deferred;
}

/** Lets clients take turns, in the order of arrival. Calls of one client that come together have their turn together. */
export class Turns {
  #last: Turn | undefined;
  readonly #beginning = new FewPerTurn(BEGIN_TOGETHER);
  /** How many calls wait for their turn. */
  waiting = 0;

  /** Joins the last turn, or another one that is not over, if it has this key. Otherwise begins one after the last. */
  join(key: Turn['key'], turn = this.#last): Turn {
    if (turn?.key === key && turn.calls > 0) {
      turn.calls += 1;
      return turn;
    }
    this.#last = { key, begins: this.#last?.over.promise ?? Promise.resolve(), calls: 1, over: new Deferred() };
    return this.#last;
  }

  leave(turn: Turn): void {
    turn.calls -= 1;
    if (turn.calls === 0) void turn.begins.then(turn.over.resolve);
  }

  /**
   * Waits until a turn that was joined begins, or for so many milliseconds.
   *
   * @throws (rejects) the reason of the signal, if it fires before. Then the turn is left.
   */
  async wait(turn: Turn, signal: AbortSignal, timeout: number): Promise<void> {
    this.waiting += 1;
    await waitFor(turn.begins, { signal, timeout }).catch(() => {});
    await new Promise<void>((resolve) => this.#beginning.run(resolve));
    this.waiting -= 1;
    if (signal.aborted) this.leave(turn);
    signal.throwIfAborted();
  }
}
