import { isAborted } from '../core/abortable.ts';
import { derive, type AskOptions, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { MAY_ASK, Method } from '../protocol/methods.ts';
import type { Attribution } from '../wire/legacy/attribution.ts';

/** Milliseconds in which a call that has asked may ask more, before others may. What is asked at once comes at once. */
const BURST = 10;
/** Milliseconds that a question may wait until it is known whose it is. */
const MAX_HELD = 30_000;
/** Milliseconds in which a server may go on with a call that was given up: it need not heed that. Among who is alike, and among strangers. */
const HAUNTS = { alike: 2000, strangers: 30_000 };
/** After so many milliseconds a call is no longer waited for, but by tools that are known to ask. */
const LONG = 2000;
/** Names of tools and prompts that are remembered; of any others it is not known whether they ask. */
const MAX_NAMES = 1000;

/** One call that may ask for something. */
interface Turn {
  /** What the server is given: its questions go to the caller through the floor. */
  exchange: Exchange;
  /** Calls of one caller are not told apart: whoever is asked, it is the same one. */
  readonly caller: object;
  readonly name: string;
  /** Questions that wait for the caller's answer. */
  open: number;
  asked: boolean;
  /** When it entered last, in milliseconds since the epoch. */
  since: number;
  leaving: ReturnType<typeof setTimeout> | undefined;
}

interface Waiter {
  readonly turn: Turn;
  readonly enter: () => void;
}

interface Held {
  readonly settle: (exchange: Exchange | RpcError) => void;
}

/**
 * Sees to it that it is known whose question it is, on a connection to a server that does not say so and that several
 * callers share.
 *
 * A call is on the floor while it runs, and leaves it while its caller thinks about a question: so calls of one caller each
 * can run, ask and wait on one connection, and whatever is asked is asked by who is on the floor. Tools that never asked
 * are on it together with others, as they would wait for one another otherwise. Should one of them ask after all, its
 * question waits until the others are done, and nobody enters meanwhile. Where two of such have asked, nobody can know who
 * asked what: both questions are refused, which their calls fail by, and from then on these tools are alone on the floor.
 *
 * A call that was given up may still be worked on, until the server answers it late or some time is over. A question
 * that could be of it waits as long, and so does one that could be of a list, or of another request that asks nothing as a
 * rule. Nobody waits for a call that takes long but those who are known to ask.
 *
 * What cannot be known is whose a question is that a call asks beside another that is open, later than `BURST` after it, or
 * that a server asks for a call that it has answered: it is taken for that of who is on the floor then, if that is a tool
 * that asks.
 */
export class Floor implements Attribution {
  readonly #running = new Set<Turn>();
  readonly #parked = new Set<Turn>();
  /** Given up by their callers, and perhaps not by the server. */
  readonly #ghosts = new Map<Exchange, { readonly turn: Turn; readonly timer: ReturnType<typeof setTimeout> }>();
  #waiting: Waiter[] = [];
  #held: Held[] = [];
  /** Questions from before the first call. */
  #early: Held[] = [];
  /** Whose requests are in flight that do not wait for the floor, each once. */
  readonly #beside = new Set<{ readonly caller: object }>();
  #review: ReturnType<typeof setTimeout> | undefined;
  readonly #strangers: boolean;
  readonly #quiet = new Set<string>();
  readonly #asking = new Set<string>();

  /** @param strangers whether the callers have nothing in common: then nobody is asked what is asked outside of calls. */
  constructor(strangers = false) {
    this.#strangers = strangers;
  }

  /** Calls that wait for the floor. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether a call would not have to wait, and among strangers neither would what is asked in it if it is known to ask. */
  isFreeFor(exchange: Exchange): boolean {
    if (this.#running.size > 0 || this.#waiting.length > 0) return false;
    return !this.#strangers || this.#ghosts.size === 0 || !this.#asking.has(nameOf(exchange));
  }

  /** Has a service answer an exchange when it is its turn, where it is one that may ask for something. */
  async answer(service: Service, exchange: Exchange): Promise<JsonObject> {
    if (!MAY_ASK.has(exchange.method)) return this.#passBy(service, exchange);
    const turn = this.#turnOf(exchange);
    await this.#enter(turn, exchange.signal);
    try {
      const result = await service(turn.exchange);
      this.#learn(turn);
      return result;
    } catch (error) {
      if (isAborted(exchange)) this.#haunt(turn);
      throw error;
    } finally {
      this.#leave(turn);
      this.#parked.delete(turn);
      this.#forget(turn);
    }
  }

  /** @throws RpcError −32603 where it cannot be known. */
  question(signal: AbortSignal): Exchange | undefined | Promise<Exchange | undefined> {
    if (this.#running.size > 0) {
      if (this.#isOfParked()) return Promise.reject(unknown());
      return this.#asker() ?? this.#hold(signal);
    }
    const [newest, ...others] = [...this.#parked].toReversed();
    if (newest) {
      const known = this.#isAlone(newest.caller) && others.every(({ caller }) => caller === newest.caller);
      return known ? newest.exchange : Promise.reject(unknown());
    }
    // Some ask as soon as they are connected to; who is alike can be asked with the first call.
    return this.#ghosts.size > 0 || this.#strangers ? Promise.reject(unknown()) : this.#holdEarly(signal);
  }

  over(exchange: Exchange): void {
    const ghost = this.#ghosts.get(exchange);
    if (!ghost) return;
    clearTimeout(ghost.timer);
    this.#ghosts.delete(exchange);
    this.#settleHeld();
  }

  message(): Exchange | undefined {
    // A log message may be shown to one who is alike, rather than to nobody; to a stranger not.
    if (!this.#strangers) return this.#runner()?.exchange;
    const speaker = this.#speaker();
    if (!speaker) return undefined;
    for (const { caller } of this.#parked) if (caller !== speaker.caller) return undefined;
    return speaker.exchange;
  }

  /** Of whom whatever is said must be, where the server works for nobody else. */
  #speaker(): Turn | undefined {
    const runner = this.#runner();
    return runner && this.#isAlone(runner.caller) ? runner : undefined;
  }

  /** The one caller that is on the floor. Of its calls the newest that waits for nothing. */
  #runner(): Turn | undefined {
    let runner: Turn | undefined;
    for (const turn of this.#running) {
      if (runner && runner.caller !== turn.caller) return undefined;
      if (!runner || turn.open <= runner.open) runner = turn;
    }
    return runner;
  }

  /** Whether the server works for nobody else but on the floor, or waits for answers. */
  #isAlone(caller: object): boolean {
    for (const { turn } of this.#ghosts.values()) if (turn.caller !== caller) return false;
    for (const other of this.#beside) if (other.caller !== caller) return false;
    return true;
  }

  /** Only tools are on the floor that never asked, and those that do wait for answers: more likely it is one of them. */
  #isOfParked(): boolean {
    const [first] = this.#running;
    for (const { name } of this.#running) if (!this.#quiet.has(name)) return false;
    const others = [...this.#parked].some(({ caller }) => caller !== first?.caller);
    if (others) for (const { name } of this.#running) this.#remember(name);
    return others;
  }

  /** Whose a question must be. Which of several calls of one caller asked it is not known, so all may ask that never were quiet. */
  #asker(): Exchange | undefined {
    const speaker = this.#speaker();
    if (!speaker) return undefined;
    const strange = [...this.#running].filter(({ name }) => !this.#quiet.has(name));
    for (const turn of strange.length > 0 ? strange : this.#running) {
      turn.asked = true;
      this.#remember(turn.name);
    }
    return speaker.exchange;
  }

  #turnOf(exchange: Exchange): Turn {
    const turn: Turn = {
      exchange,
      caller: exchange.caller.session ?? exchange,
      name: nameOf(exchange),
      open: 0,
      asked: false,
      since: 0,
      leaving: undefined,
    };
    turn.exchange = derive(exchange, {
      ask: (question, details, options) => this.#ask(turn, exchange, question, details, options),
    });
    return turn;
  }

  async #ask(
    turn: Turn,
    exchange: Exchange,
    method: string,
    params: JsonObject,
    options: AskOptions | undefined,
  ): Promise<JsonObject> {
    turn.open += 1;
    this.#leaveSoon(turn);
    try {
      return await exchange.ask(method, params, options);
    } finally {
      turn.open -= 1;
      // The server goes on with the call when it has the answer, and may ask again.
      await this.#return(turn, exchange.signal);
    }
  }

  #leaveSoon(turn: Turn): void {
    clearTimeout(turn.leaving);
    turn.leaving = setTimeout(() => this.#park(turn), BURST);
  }

  #park(turn: Turn): void {
    if (turn.open === 0 || !this.#running.has(turn)) return;
    this.#parked.add(turn);
    this.#leave(turn);
  }

  async #return(turn: Turn, signal: AbortSignal): Promise<void> {
    if (turn.open === 0) clearTimeout(turn.leaving);
    if (!this.#parked.has(turn)) return;
    await this.#enter(turn, signal, true);
    this.#parked.delete(turn);
    // Its caller still thinks about another.
    if (turn.open > 0) this.#leaveSoon(turn);
  }

  /** @param first whether it goes before those that have not begun. */
  #enter(turn: Turn, signal: AbortSignal, first = false): Promise<void> | undefined {
    if (this.#mayEnter(turn) && (first || this.#waiting.length === 0)) {
      this.#begin(turn);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter);
        reject(RpcError.from(signal.reason));
        this.#admit();
      };
      const waiter: Waiter = {
        turn,
        enter: () => {
          signal.removeEventListener('abort', cancel);
          resolve();
        },
      };
      if (signal.aborted) return reject(RpcError.from(signal.reason));
      signal.addEventListener('abort', cancel);
      if (first) this.#waiting.unshift(waiter);
      else this.#waiting.push(waiter);
      this.#admit();
    });
  }

  #begin(turn: Turn): void {
    turn.since = Date.now();
    this.#running.add(turn);
    for (const held of [...this.#early]) held.settle(turn.exchange);
  }

  #mayEnter(turn: Turn): boolean {
    if (this.#held.length > 0) return false;
    const alone = !this.#quiet.has(turn.name);
    for (const other of this.#running) {
      if (other.caller === turn.caller || !(alone || !this.#quiet.has(other.name))) continue;
      if (!isLong(other) || this.#asking.has(turn.name)) return false;
    }
    return true;
  }

  #leave(turn: Turn): void {
    clearTimeout(turn.leaving);
    if (!this.#running.delete(turn)) return;
    this.#settleHeld();
    this.#admit();
  }

  /** A call that is over does not come back for the answers to what it asked. */
  #forget(turn: Turn): void {
    const over = this.#waiting.filter((each) => each.turn === turn);
    if (over.length === 0) return;
    this.#waiting = this.#waiting.filter((each) => each.turn !== turn);
    for (const { enter } of over) enter();
    this.#admit();
  }

  /** In the order in which they came: who has to be alone is not overtaken for ever. */
  #admit(): void {
    for (const waiter of [...this.#waiting]) {
      if (this.#mayEnter(waiter.turn)) {
        this.#waiting = this.#waiting.filter((each) => each !== waiter);
        this.#begin(waiter.turn);
        waiter.enter();
      } else if (![...this.#running].some(isLong)) break;
    }
    clearTimeout(this.#review);
    if (this.#waiting.length > 0) this.#review = setTimeout(() => this.#admit(), LONG).unref();
  }

  /** A request that need not wait. It may be asked something for all that. */
  async #passBy(service: Service, exchange: Exchange): Promise<JsonObject> {
    const passing = { caller: exchange.caller.session ?? exchange };
    this.#beside.add(passing);
    try {
      return await service(exchange);
    } finally {
      this.#beside.delete(passing);
      this.#settleHeld();
    }
  }

  #hold(signal: AbortSignal): Promise<Exchange> {
    const { held, whose } = holding(signal, () => {
      this.#held = this.#held.filter((each) => each !== held);
      this.#admit();
    });
    this.#held.push(held);
    // Each of those that run may have asked one of them: none will be done before it has its answer.
    if (this.#held.length >= this.#suspects) this.#refuseHeld();
    return whose;
  }

  #holdEarly(signal: AbortSignal): Promise<Exchange> {
    const { held, whose } = holding(signal, () => {
      this.#early = this.#early.filter((each) => each !== held);
    });
    this.#early.push(held);
    return whose;
  }

  #settleHeld(): void {
    if (this.#held.length === 0) return;
    const asker = this.#asker();
    if (asker || this.#running.size === 0) for (const held of [...this.#held]) held.settle(asker ?? unknown());
    else if (this.#held.length >= this.#suspects) this.#refuseHeld();
  }

  /** Calls of which each may have asked. */
  get #suspects(): number {
    return this.#running.size + this.#ghosts.size + this.#beside.size;
  }

  #haunt(turn: Turn): void {
    const timer = setTimeout(() => this.over(turn.exchange), HAUNTS[this.#strangers ? 'strangers' : 'alike']).unref();
    this.#ghosts.set(turn.exchange, { turn, timer });
  }

  #refuseHeld(): void {
    for (const { name } of this.#running) this.#remember(name);
    for (const held of [...this.#held]) held.settle(unknown());
  }

  #learn({ name, asked }: Turn): void {
    if (!asked && !this.#asking.has(name)) keep(this.#quiet, name);
  }

  /** What asked once may do so again. */
  #remember(name: string): void {
    this.#quiet.delete(name);
    keep(this.#asking, name);
  }
}

/** What calls have in common of which one asks if another does. */
function nameOf({ method, params }: Exchange): string {
  const name: unknown = method === Method.ReadResource ? '' : params['name'];
  return `${method} ${typeof name === 'string' ? name : ''}`;
}

function isLong({ since }: Turn): boolean {
  return Date.now() - since >= LONG;
}

/** A question of which it is not known yet whose it is. @param over called when it is settled. */
function holding(signal: AbortSignal, over: () => void): { held: Held; whose: Promise<Exchange> } {
  let settle!: Held['settle'];
  const whose = new Promise<Exchange>((resolve, reject) => {
    const takeBack = (): void => settle(RpcError.from(signal.reason));
    const timer = setTimeout(() => settle(unknown()), MAX_HELD);
    settle = (outcome) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', takeBack);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
      over();
    };
    signal.addEventListener('abort', takeBack);
  });
  return { held: { settle }, whose };
}

/** As the newest; the oldest goes where there are too many. */
function keep(names: Set<string>, name: string): void {
  names.delete(name);
  names.add(name);
  if (names.size <= MAX_NAMES) return;
  const [oldest] = names;
  names.delete(oldest!);
}

function unknown(): RpcError {
  return new RpcError(
    ErrorCode.InternalError,
    'Several clients have calls in flight on this connection, and the server did not say whose question this is',
  );
}
