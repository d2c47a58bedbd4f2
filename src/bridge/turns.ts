import { Newest } from '../base/newest.ts';
import { RpcError } from '../jsonrpc/errors.ts';

/**
 * A call that has run for this many milliseconds delays only tools that are known to ask. Calls of other tools that have waited
 * as long behind it begin together.
 */
const LONG = 2000;

/** A call that takes turns with those of other clients. */
export interface TurnTaker {
  readonly client: object | string;
  /** Whether it asks. Undefined if unknown; false if it needs no turn. */
  readonly asks: () => boolean | undefined;
}

/**
 * Gives turns to calls that may ask: one client at a time, in the order of arrival. The cost per call does not grow
 * with the number of calls that wait or have a turn.
 */
export class Turns {
  /** Calls that have a turn, with the time when they began, in milliseconds since the epoch. Oldest first. */
  readonly #holders = new Map<TurnTaker, number>();
  readonly #clients = new Map<TurnTaker['client'], Newest<TurnTaker>>();
  /** Waiting calls, with the function that lets each run. Calls that return with an answer go first. */
  readonly #returning = new Map<TurnTaker, () => void>();
  readonly #fresh = new Map<TurnTaker, () => void>();
  /**
   * The waiting calls that are not known to ask, with the time since when they wait. They need not wait behind a call that
   * is known to ask and itself waits for a long call. Oldest first.
   */
  readonly #unsure = new Map<TurnTaker, number>();
  #review: ReturnType<typeof setTimeout> | undefined;

  /** How many calls wait. */
  get waiting(): number {
    return this.#returning.size + this.#fresh.size;
  }

  /**
   * Waits for the turn of a call.
   *
   * @param again whether the call returns with an answer. It then goes before calls that have not started.
   * @throws RpcError if the signal fires first.
   */
  take(call: TurnTaker, signal: AbortSignal, again = false): Promise<void> | undefined {
    const asks = call.asks();
    if (this.#mayTake(call) && (again || this.waiting === 0 || asks === false)) {
      this.hold(call);
      return undefined;
    }
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#dequeue(call);
        reject(RpcError.from(signal.reason));
        this.#admit();
      };
      signal.addEventListener('abort', cancel, { once: true });
      (again ? this.#returning : this.#fresh).set(call, () => {
        signal.removeEventListener('abort', cancel);
        resolve();
      });
      if (asks !== true) this.#unsure.set(call, performance.now());
      this.#review ??= setTimeout(() => this.#admit(), LONG).unref();
    });
  }

  /** A running call takes a turn at once, if it needs one. */
  hold(call: TurnTaker): void {
    if (call.asks() === false || this.#holders.has(call)) return;
    this.#holders.set(call, performance.now());
    let calls = this.#clients.get(call.client);
    if (!calls) this.#clients.set(call.client, (calls = new Newest()));
    calls.add(call);
  }

  /** Releases the turn of a call. If the call still waits for a turn, it continues. */
  leave(call: TurnTaker): void {
    const enter = this.#dequeue(call);
    enter?.();
    if (this.#release(call) || enter) this.#admit();
  }

  #release(call: TurnTaker): boolean {
    if (!this.#holders.delete(call)) return false;
    const calls = this.#clients.get(call.client)!;
    calls.delete(call);
    if (calls.size === 0) this.#clients.delete(call.client);
    return true;
  }

  #mayTake(call: TurnTaker): boolean {
    const asks = call.asks();
    if (asks === false) return true;
    for (const [client, { last }] of this.#clients)
      if (client !== call.client && (asks || !isLong(this.#holders.get(last!)!))) return false;
    return true;
  }

  #dequeue(call: TurnTaker): (() => void) | undefined {
    const enter = this.#returning.get(call) ?? this.#fresh.get(call);
    this.#returning.delete(call);
    this.#fresh.delete(call);
    this.#unsure.delete(call);
    return enter;
  }

  /** Starts the calls whose turn it is now. */
  #admit(): void {
    clearTimeout(this.#review);
    const all = this.#admitOf(this.#returning) && this.#admitOf(this.#fresh);
    const [oldest] = all ? [] : this.#holders.values();
    if (oldest !== undefined && isLong(oldest)) {
      for (const [call, since] of this.#unsure)
        if (call.asks() === true) this.#unsure.delete(call);
        // Otherwise, a call would wait as long for each client that came before.
        else if (isLong(since)) this.#begin(call);
        else if (!this.#enter(call)) break;
    }
    this.#review = this.waiting > 0 ? setTimeout(() => this.#admit(), this.#untilLong(oldest)).unref() : undefined;
  }

  /** Milliseconds until the oldest turn and the oldest wait are long. */
  #untilLong(oldest = 0): number {
    const now = performance.now();
    const [first = now] = this.#unsure.values();
    return Math.ceil(Math.max(first, oldest) + LONG - now);
  }

  /** Returns whether all waiting calls were started. */
  #admitOf(queue: ReadonlyMap<TurnTaker, unknown>): boolean {
    for (const call of queue.keys()) if (!this.#enter(call)) return false;
    return true;
  }

  #enter(call: TurnTaker): boolean {
    if (!this.#mayTake(call)) return false;
    this.#begin(call);
    return true;
  }

  #begin(call: TurnTaker): void {
    this.hold(call);
    this.#dequeue(call)?.();
  }
}

function isLong(since: number): boolean {
  return performance.now() - since >= LONG;
}
