import { Deferred } from '../base/deferred.ts';
import { inNextTurn } from '../base/next-turn.ts';
import { Recent } from '../base/recent.ts';
import { idlePause, waitFor } from '../base/wait.ts';
import type { Exchange } from '../core/exchange.ts';
import { CAN_REQUIRE_INPUT, Method } from '../protocol/methods.ts';

/** How many milliseconds a call of an unknown tool delays others. */
const LONG = 2000;
/** The most names of tools, prompts and other requests that are remembered. */
const MAX_NAMES = 1000;
/** The most characters of a name. Clients can invent longer names, and a server need not refuse them. All longer names count as one. */
const MAX_NAME = 256;
/** How many calls begin in one turn of the event loop. */
const BEGIN_TOGETHER = 100;

/**
 * What is known of a tool or another kind of request, and how many milliseconds a turn of its calls may last. It `asks`: a call has asked.
 * It is `quiet`: a call has ended without a question, and none has asked. It is `slow`: a call has run for two seconds, and none has ended
 * yet. Quiet and slow ones need no turn. It is `suspect`: a call may have asked a question that nobody got, and none has asked.
 */
const TURNS = { asks: Infinity, quiet: 0, slow: 0, suspect: LONG, unknown: LONG };
type Kind = keyof typeof TURNS;

/** A call that may need a turn. */
interface Named {
  /** Calls of the same name behave alike. Undefined for lists and the like, which hardly ask. */
  readonly name: string | undefined;
}

/** The name of a request, for `Named`. */
export function nameOf({ method, params }: Exchange): string | undefined {
  if (!CAN_REQUIRE_INPUT.has(method)) return undefined;
  // A call that creates a task ends before the task asks, which says nothing about other calls of its tool.
  const task = params['task'] === undefined ? '' : ' task';
  const name = `${method}${task} ${method === Method.ReadResource ? '' : String(params['name'])}`;
  return name.length <= MAX_NAME ? name : '';
}

/**
 * Lets calls of tools that ask run one at a time. Unknown tools take turns, too, but such a call delays others for 2 seconds at most.
 */
export class Turns<Call extends Named> {
  /** The call whose turn it is, and what limits the turn. */
  #holder: Call | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Calls that wait for their turn, with the function that lets each run. Calls that return with an answer go first. */
  readonly #returning = new Map<Call, () => void>();
  readonly #fresh = new Map<Call, () => void>();
  /** What is known of each name. */
  readonly #kinds = new Recent<Kind>(MAX_NAMES);

  /** How many calls wait for their turn. */
  get waiting(): number {
    return this.#returning.size + this.#fresh.size;
  }

  get holder(): Call | undefined {
    return this.#holder;
  }

  isQuiet(call: Call): boolean {
    return this.#kindOf(call) === 'quiet';
  }

  asks(call: Call): boolean {
    return this.#kindOf(call) === 'asks';
  }

  /** The call has asked. */
  learnAsks({ name }: Call): void {
    this.#kinds.add(name, 'asks');
  }

  /** The call has ended, and has not asked. */
  learnQuiet(call: Call): void {
    if (call.name !== undefined && !this.#isWatched(call)) this.#kinds.add(call.name, 'quiet');
  }

  /** The call may have asked. */
  forgetQuiet(call: Call): void {
    if (!this.#isWatched(call)) this.#kinds.take(call.name);
  }

  /** The call may have asked a question that could not be attributed. From now on, calls of its tool take turns. */
  suspect(call: Call): void {
    if (call.name !== undefined && !this.asks(call)) this.#kinds.add(call.name, 'suspect');
  }

  /**
   * Waits until a call may begin. Undefined if it need not wait.
   *
   * @throws (rejects) the reason of the exchange's signal, if that fires before.
   */
  begin(call: Call, exchange: Exchange): Promise<void> | undefined {
    return this.#limitOf(call) > 0 ? this.#take(call, this.#fresh, exchange) : undefined;
  }

  /**
   * Waits until a call may continue with an answer, for two seconds at most: a server may run one call after another. Then the call
   * whose turn it is ends only when this one has got its answer. Undefined if it need not wait.
   *
   * @throws (rejects) as `begin`.
   */
  resume(call: Call, exchange: Exchange): Promise<void> | undefined {
    if (this.#limitOf(call) === 0) return undefined;
    return Promise.race([this.#take(call, this.#returning, exchange), idlePause(LONG)]);
  }

  /** Gives a call the turn if no other has it. It lasts until the call ends or waits for an answer. */
  keep(call: Call): void {
    this.#holder ??= call;
    if (this.#holder === call) clearTimeout(this.#timer);
  }

  /** Ends the turn of a call. If it waits to continue, it does. */
  end(call: Call): void {
    this.#returning.get(call)?.();
    this.#returning.delete(call);
    if (this.#holder !== call) return;
    clearTimeout(this.#timer);
    this.#holder = undefined;
    this.#beginNext();
  }

  #kindOf({ name }: Call): Kind {
    return name === undefined ? 'slow' : (this.#kinds.get(name) ?? 'unknown');
  }

  /** Whether calls that end without a question say nothing about the tool any more. */
  #isWatched(call: Call): boolean {
    return this.asks(call) || this.#kindOf(call) === 'suspect';
  }

  #limitOf(call: Call): number {
    return TURNS[this.#kindOf(call)];
  }

  async #take(call: Call, queue: Map<Call, () => void>, { signal }: Exchange): Promise<void> {
    const turn = new Deferred();
    queue.set(call, turn.resolve);
    // Otherwise, another call has the turn, or further calls begin in the next turn of the event loop.
    if (this.waiting === 1) this.#beginNext();
    await waitFor(turn.promise, { signal }).finally(() => queue.delete(call));
    signal.throwIfAborted();
  }

  readonly #beginNext = (): void => {
    for (let begun = 0; !this.#holder && this.waiting > 0; begun += 1) {
      if (begun === BEGIN_TOGETHER) return inNextTurn(this.#beginNext);
      const queue = this.#returning.size > 0 ? this.#returning : this.#fresh;
      const [next] = queue;
      const [call, run] = next!;
      queue.delete(call);
      // Calls of its tool may have ended without a question meanwhile.
      const limit = this.#limitOf(call);
      if (limit > 0) this.#holder = call;
      if (limit === LONG) this.#timer = setTimeout(this.#tooLong, LONG, call).unref();
      run();
    }
  };

  readonly #tooLong = (call: Call): void => {
    if (this.#limitOf(call) === LONG) this.#kinds.add(call.name, 'slow');
    this.end(call);
  };
}
