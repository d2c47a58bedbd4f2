import { isAborted } from '../core/abortable.ts';
import { derive, type AskOptions, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { MAY_ASK, Method } from '../protocol/methods.ts';
import type { Attribution } from '../wire/legacy/attribution.ts';

/** Milliseconds in which a call that has asked may ask more before other clients may: what is asked at once comes at once. */
const BURST = 10;
/** Milliseconds that a question may wait until one client alone could have asked it. */
const MAX_HELD = 30_000;
/** Milliseconds for which the server may still ask for a cancelled call: it need not have heeded the cancellation yet. */
const ABANDONED = 2000;
/** A call that has run for this many milliseconds holds up only tools that are known to ask. */
const LONG = 2000;
/** Names of tools, prompts and other requests that are remembered. */
const MAX_NAMES = 1000;
/** Characters of a name. Clients make longer ones up, and a server need not refuse them: all of those count as one. */
const MAX_NAME = 256;

/** One request in flight, as the server works on it. */
interface CallSlot {
  /** What the server is given: its questions pass through here. */
  exchange: Exchange;
  /** Whose it is. A caller without a session counts as a client of its own for each request. */
  readonly client: object;
  readonly name: string;
  /** `suspended` calls wait for their client's answer; for `abandoned` ones the server may still ask. */
  state: 'waiting' | 'running' | 'suspended' | 'abandoned' | 'ended';
  /** When it began to run, in milliseconds since the epoch. */
  since: number;
  /** Questions that wait for the client's answer. */
  open: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Lets it run; while it waits for its turn. */
  enter: (() => void) | undefined;
}

/** A question that more than one client's call could have asked. */
interface HeldQuestion {
  /** Calls that were in flight when it came: later ones cannot have asked it. */
  readonly candidates: readonly CallSlot[];
  readonly settle: (outcome: Exchange | RpcError) => void;
}

/**
 * Finds out whose question it is, on a connection that several clients share and whose server does not say so.
 *
 * - Calls of tools that ask take turns: those of one client at a time. A call leaves its turn while its client thinks about
 *   a question and takes it again before the server gets the answer, so nobody waits for another person.
 * - A tool that was called and did not ask is never held up. Should it ask after all, its question waits until one client
 *   alone has calls left of those that were in flight when it came.
 * - A call that has run for 2 seconds no longer holds up others, except tools that are known to ask.
 * - A cancelled call can still have asked, for 2 seconds or until the server answers it.
 * - What cannot be attributed within 30 seconds is refused.
 *
 * It cannot be known whose a question is that a call asks beside another that is open, more than `BURST` after it, or that a
 * server asks for a call it has answered: it is taken for that of the client whose turn it is.
 */
export class QuestionAttribution implements Attribution {
  /** Requests that the server works on, or may still work on, in the order in which they began. */
  readonly #calls = new Set<CallSlot>();
  /** Calls that wait for their turn, in order. */
  #waiting: CallSlot[] = [];
  #review: ReturnType<typeof setTimeout> | undefined;
  readonly #held = new Set<HeldQuestion>();
  /** By the name of a tool whether it ever asked; one that is not here was never called. The name used last comes last. */
  readonly #asks = new Map<string, boolean>();

  /** Calls that wait for their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Has a service answer an exchange, in its turn. */
  async answer(service: Service, exchange: Exchange): Promise<JsonObject> {
    const call = this.#slotFor(exchange);
    await this.#takeTurn(call, exchange.signal);
    try {
      const result = await service(call.exchange);
      if (!this.#asks.has(call.name)) this.#remember(call.name, false);
      return result;
    } finally {
      if (isAborted(exchange)) this.#abandon(call);
      else this.#end(call);
    }
  }

  question(signal: AbortSignal): Exchange | Promise<Exchange> {
    const candidates = this.#candidates();
    return this.#asker(candidates) ?? this.#hold(candidates, signal);
  }

  over(exchange: Exchange): void {
    for (const call of this.#calls) if (call.exchange === exchange) this.#end(call);
  }

  message(): Exchange | undefined {
    const [first] = this.#calls;
    for (const { client } of this.#calls) if (client !== first!.client) return undefined;
    return newest(this.#calls);
  }

  #slotFor(exchange: Exchange): CallSlot {
    const call: CallSlot = {
      exchange,
      client: exchange.caller.session ?? exchange,
      name: nameOf(exchange),
      state: 'waiting',
      since: 0,
      open: 0,
      timer: undefined,
      enter: undefined,
    };
    call.exchange = derive(exchange, {
      ask: (method, params, options) => this.#ask(call, exchange, method, params, options),
    });
    return call;
  }

  /** Whether a call has to take turns: it may ask, and is not known to do without. */
  #takesTurns({ exchange, name }: CallSlot): boolean {
    return MAY_ASK.has(exchange.method) && this.#asks.get(name) !== false;
  }

  #mayRun(call: CallSlot): boolean {
    if (!this.#takesTurns(call)) return true;
    const asks = this.#asks.get(call.name) === true;
    for (const other of this.#calls) {
      if (other.state !== 'running' || other.client === call.client || !this.#takesTurns(other)) continue;
      if (asks || !isLong(other)) return false;
    }
    return true;
  }

  /** @param again whether the call comes back with an answer: then it goes before those that have not begun. */
  #takeTurn(call: CallSlot, signal: AbortSignal, again = false): Promise<void> | undefined {
    if (this.#mayRun(call) && (again || this.#waiting.length === 0 || !this.#takesTurns(call))) {
      this.#run(call);
      return undefined;
    }
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#leaveQueue(call);
        reject(RpcError.from(signal.reason));
        this.#admit();
      };
      call.state = 'waiting';
      call.enter = () => {
        signal.removeEventListener('abort', cancel);
        this.#leaveQueue(call);
        this.#run(call);
        resolve();
      };
      signal.addEventListener('abort', cancel);
      if (again) this.#waiting.unshift(call);
      else this.#waiting.push(call);
      this.#admit();
    });
  }

  #leaveQueue(call: CallSlot): void {
    call.enter = undefined;
    this.#waiting = this.#waiting.filter((each) => each !== call);
  }

  #run(call: CallSlot): void {
    call.state = 'running';
    call.since = Date.now();
    this.#calls.add(call);
  }

  /** Lets those run whose turn it is, in the order in which they came, so that nobody is overtaken for ever. */
  #admit(): void {
    clearTimeout(this.#review);
    for (const call of [...this.#waiting]) {
      if (this.#mayRun(call)) call.enter?.();
      // Those that do not ask need not wait behind one that does, where it waits for a long call.
      else if (![...this.#calls].some(isLong)) break;
    }
    if (this.#waiting.length > 0) this.#review = setTimeout(() => this.#admit(), LONG).unref();
  }

  /** The client is asked. While it thinks, others may have their turn. */
  async #ask(
    call: CallSlot,
    exchange: Exchange,
    method: string,
    params: JsonObject,
    options: AskOptions | undefined,
  ): Promise<JsonObject> {
    this.#remember(call.name, true);
    call.open += 1;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => this.#suspend(call), BURST);
    try {
      return await exchange.ask(method, params, options);
    } finally {
      call.open -= 1;
      // With the answer the server goes on with the call, and may ask again.
      if (call.state === 'suspended') await this.#takeTurn(call, exchange.signal, true);
      if (call.open > 0 && call.state === 'running') call.timer = setTimeout(() => this.#suspend(call), BURST);
    }
  }

  #suspend(call: CallSlot): void {
    if (call.open === 0 || call.state !== 'running') return;
    call.state = 'suspended';
    this.#changed();
  }

  #abandon(call: CallSlot): void {
    if (!this.#calls.has(call)) return;
    clearTimeout(call.timer);
    call.state = 'abandoned';
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    this.#changed();
  }

  /** The server asks nothing more for it. */
  #end(call: CallSlot): void {
    clearTimeout(call.timer);
    // It may have come back with an answer that the server did not wait for.
    call.enter?.();
    call.state = 'ended';
    this.#calls.delete(call);
    this.#changed();
  }

  #changed(): void {
    for (const held of [...this.#held]) this.#settleHeld(held);
    this.#admit();
  }

  /** The calls of which one has asked. */
  #candidates(): CallSlot[] {
    const calls = [...this.#calls];
    const active = calls.filter(({ state }) => state === 'running' || state === 'abandoned');
    const asking = active.filter(({ name }) => this.#asks.get(name) !== false);
    // Where only tools run that never asked, a call that waits for an answer is as likely to ask something else.
    return asking.length > 0 ? asking : calls;
  }

  /** The call through which the client of a question is asked, where just one client is left. */
  #asker(candidates: readonly CallSlot[]): Exchange | undefined {
    const left = candidates.filter((call) => this.#calls.has(call));
    const [first] = left;
    if (!first || left.some(({ client }) => client !== first.client)) return undefined;
    for (const { name } of left) this.#remember(name, true);
    return newest(left);
  }

  #hold(candidates: readonly CallSlot[], signal: AbortSignal): Promise<Exchange> {
    return new Promise((resolve, reject) => {
      const takenBack = (): void => held.settle(RpcError.from(signal.reason));
      const timer = setTimeout(() => this.#refuse(held), MAX_HELD);
      const held: HeldQuestion = {
        candidates,
        settle: (outcome) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', takenBack);
          this.#held.delete(held);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      signal.addEventListener('abort', takenBack);
      this.#held.add(held);
      this.#settleHeld(held);
      // Each of those calls may wait for one of these questions: none would end, and none could be attributed.
      const all = new Set([...this.#held].flatMap((each) => each.candidates));
      if (this.#held.size >= all.size) for (const each of [...this.#held]) this.#refuse(each);
    });
  }

  #settleHeld(held: HeldQuestion): void {
    const asker = this.#asker(held.candidates);
    if (asker) held.settle(asker);
    else if (!held.candidates.some((call) => this.#calls.has(call) && call.state !== 'abandoned')) this.#refuse(held);
  }

  #refuse(held: HeldQuestion): void {
    for (const { name } of held.candidates) this.#remember(name, true);
    held.settle(unattributable());
  }

  #remember(name: string, asks: boolean): void {
    this.#asks.delete(name);
    this.#asks.set(name, asks);
    if (this.#asks.size > MAX_NAMES) this.#asks.delete(this.#asks.keys().next().value!);
  }
}

/** The newest call that can be asked, before one that waits for an answer already. */
function newest(calls: Iterable<CallSlot>): Exchange | undefined {
  let found: CallSlot | undefined;
  for (const call of calls) if (call.state !== 'abandoned' && (!found || call.open <= found.open)) found = call;
  return found?.exchange;
}

/** What calls have in common of which one asks if another does. */
function nameOf({ method, params }: Exchange): string {
  const name: unknown = method === Method.ReadResource ? '' : params['name'];
  return `${method} ${typeof name === 'string' && name.length <= MAX_NAME ? name : ''}`;
}

function isLong({ state, since }: CallSlot): boolean {
  return state === 'running' && Date.now() - since >= LONG;
}

function unattributable(): RpcError {
  return new RpcError(
    ErrorCode.InternalError,
    'Several clients have calls in flight on this connection, and nothing says which of them asked. Call again, or give each client a connection of its own (--per-session)',
  );
}
