import { RpcError } from '../jsonrpc/errors.ts';

/** A call that has run for this many milliseconds holds up only tools that are known to ask. */
const LONG = 2000;

type Client = object | string;

/** A call that takes turns with those of other clients. */
export interface TurnTaker {
  readonly client: Client;
  /** Whether it asks. Undefined if unknown; false if it needs no turn. */
  readonly asks: () => boolean | undefined;
}

/**
 * Gives turns to calls that may ask: one client at a time, in the order of arrival. The cost per call does not grow
 * with the number of running or waiting calls.
 */
export class Turns {
  /** Calls that hold a turn, with when they began, in milliseconds since the epoch. The oldest first. */
  readonly #short = new Map<TurnTaker, number>();
  /** Calls that have held a turn for long. */
  readonly #long = new Set<TurnTaker>();
  /** How many calls of each client are in `#short`, and in either. */
  readonly #shortOf = new Map<Client, number>();
  readonly #allOf = new Map<Client, number>();
  /** Waiting calls, with the function that lets each run. Calls that return with an answer go first. */
  readonly #returning = new Map<TurnTaker, () => void>();
  readonly #fresh = new Map<TurnTaker, () => void>();
  /**
   * The waiting calls that are not known to ask. They need not wait behind a call that is known to ask and waits for a
   * long call.
   */
  readonly #unsure = new Set<TurnTaker>();
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
      if (asks !== true) this.#unsure.add(call);
      this.#review ??= setTimeout(() => this.#admit(), LONG).unref();
    });
  }

  /** A running call takes a turn at once, if it needs one. */
  hold(call: TurnTaker): void {
    if (call.asks() === false || this.#short.has(call) || this.#long.has(call)) return;
    this.#short.set(call, Date.now());
    add(this.#shortOf, call.client, 1);
    add(this.#allOf, call.client, 1);
  }

  /** Releases the turn of a call. If the call still waits for a turn, it continues. */
  leave(call: TurnTaker): void {
    const enter = this.#dequeue(call);
    enter?.();
    const wasShort = this.#short.delete(call);
    if (wasShort) add(this.#shortOf, call.client, -1);
    const held = this.#long.delete(call) || wasShort;
    if (held) add(this.#allOf, call.client, -1);
    if (held || enter) this.#admit();
  }

  #mayTake(call: TurnTaker): boolean {
    const asks = call.asks();
    if (asks === false) return true;
    this.#age();
    const clients = asks ? this.#allOf : this.#shortOf;
    return clients.size === 0 || (clients.size === 1 && clients.has(call.client));
  }

  #age(): void {
    const latest = Date.now() - LONG;
    for (const [call, since] of this.#short) {
      if (since > latest) return;
      this.#short.delete(call);
      add(this.#shortOf, call.client, -1);
      this.#long.add(call);
    }
  }

  #dequeue(call: TurnTaker): (() => void) | undefined {
    const enter = this.#returning.get(call) ?? this.#fresh.get(call);
    this.#returning.delete(call);
    this.#fresh.delete(call);
    this.#unsure.delete(call);
    return enter;
  }

  /** Starts the calls that have their turn now. */
  #admit(): void {
    clearTimeout(this.#review);
    const all = this.#admitOf(this.#returning) && this.#admitOf(this.#fresh);
    if (!all && this.#long.size > 0) {
      for (const call of this.#unsure)
        if (call.asks() === true) this.#unsure.delete(call);
        else if (!this.#enter(call)) break;
    }
    this.#review = this.waiting > 0 ? setTimeout(() => this.#admit(), LONG).unref() : undefined;
  }

  /** Returns whether all waiting calls were started. */
  #admitOf(queue: ReadonlyMap<TurnTaker, unknown>): boolean {
    for (const call of queue.keys()) if (!this.#enter(call)) return false;
    return true;
  }

  #enter(call: TurnTaker): boolean {
    if (!this.#mayTake(call)) return false;
    this.hold(call);
    this.#dequeue(call)?.();
    return true;
  }
}

function add(counts: Map<Client, number>, client: Client, by: 1 | -1): void {
  const count = (counts.get(client) ?? 0) + by;
  if (count === 0) counts.delete(client);
  else counts.set(client, count);
}
