import { inNextTurn } from '../base/next-turn.ts';
import { RpcError } from '../jsonrpc/errors.ts';

/** How many calls begin in one turn of the event loop. */
const BEGIN_TOGETHER = 100;

/** A call that may ask. */
export interface TurnTaker {
  /** How long its turn may last, in milliseconds. 0 if it needs none. */
  readonly turn: () => number;
}

/**
 * Lets calls that may ask run one after another, in order of arrival. The cost per call does not grow with the number of calls
 * that wait.
 */
export class Turns<Call extends TurnTaker> {
  readonly #onlong: (call: Call) => void;
  #holder: Call | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Waiting calls, with the function that lets each run. Calls that return with an answer go first. */
  readonly #returning = new Map<Call, () => void>();
  readonly #fresh = new Map<Call, () => void>();

  /** @param onlong called when a turn has lasted too long, and is over. */
  constructor(onlong: (call: Call) => void) {
    this.#onlong = onlong;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#returning.size + this.#fresh.size;
  }

  /**
   * Waits for the turn of a call. Returns undefined if it can run at once.
   *
   * @param again whether the call returns with an answer. It then goes before calls that have not started.
   * @throws RpcError if the signal fires first.
   */
  take(call: Call, signal: AbortSignal, again = false): Promise<void> | undefined {
    if (call.turn() === 0) return undefined;
    if (!this.#holder && (again || this.waiting === 0)) {
      this.#hold(call);
      return undefined;
    }
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#dequeue(call);
        reject(RpcError.from(signal.reason));
      };
      signal.addEventListener('abort', cancel, { once: true });
      (again ? this.#returning : this.#fresh).set(call, () => {
        signal.removeEventListener('abort', cancel);
        resolve();
      });
    });
  }

  /** Gives a call the turn if no other has it. It lasts until the call leaves. */
  keep(call: Call): void {
    this.#holder ??= call;
    if (this.#holder === call) clearTimeout(this.#timer);
  }

  /** Ends the turn of a call. If the call still waits for one, it continues. */
  leave(call: Call): void {
    this.#dequeue(call)?.();
    if (this.#holder !== call) return;
    clearTimeout(this.#timer);
    this.#holder = undefined;
    this.#begin();
  }

  #hold(call: Call): void {
    this.#holder = call;
    if (call.turn() < Infinity) this.#timer = setTimeout(this.#end, call.turn(), call).unref();
  }

  readonly #end = (call: Call): void => {
    this.#holder = undefined;
    this.#onlong(call);
    this.#begin();
  };

  readonly #begin = (): void => {
    for (let begun = 0; !this.#holder && this.waiting > 0; begun += 1) {
      if (begun === BEGIN_TOGETHER) return inNextTurn(this.#begin);
      const [call] = (this.#returning.size > 0 ? this.#returning : this.#fresh).keys();
      // Calls of its tool have ended without a question meanwhile.
      if (call!.turn() > 0) this.#hold(call!);
      this.#dequeue(call!)!();
    }
  };

  #dequeue(call: Call): (() => void) | undefined {
    const begin = this.#returning.get(call) ?? this.#fresh.get(call);
    this.#returning.delete(call);
    this.#fresh.delete(call);
    return begin;
  }
}
