import { abortController } from '../base/abort-controller.ts';
import { joined } from '../base/abort.ts';
import { FewPerTurn } from '../base/few-per-turn.ts';
import { Oldest } from '../base/oldest.ts';
import { quoting } from '../base/short-text.ts';
import { isAborted } from '../core/base-exchange.ts';
import { derive } from '../core/derive.ts';
import { NotAsked, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../protocol/methods.ts';
import type { Attribution } from '../wire/legacy/outbound/attribution.ts';
import { Turns, type TurnTaker } from './turns.ts';

/** After a question, the same call may ask more for this many milliseconds before other clients' calls may run. */
const BURST = 10;
/** Milliseconds that a question may wait until only one client could have asked it. */
const MAX_HELD = 30_000;
/**
 * Milliseconds for which a cancelled call may still ask, because the server may not have processed the cancellation
 * yet.
 */
const ABANDONED = 2000;
/** The most open questions to one client, so that it cannot take the room of all others. */
const MAX_OF_ONE = 100;
/** The most questions that wait at a time. Each is compared with every call that was in flight when it came. */
const MAX_QUESTIONS = 100;
/** With how many calls all waiting questions together are compared. Beyond that, only one question waits. */
const MAX_COMPARED = 100_000;
/** The most names of tools, prompts and other requests that are remembered. */
const MAX_NAMES = 1000;
/**
 * The most characters of a name. Clients can invent longer names, and a server need not refuse them. All longer names
 * count as one.
 */
const MAX_NAME = 256;

/** The key that all callers of one client share. Undefined for an unknown caller. */
export type ClientOf = (caller: Caller) => object | string | undefined;

type Ask = (call: CallSlot, ...question: Parameters<Exchange['ask']>) => Promise<JsonObject>;

/** One request in flight. */
class CallSlot implements TurnTaker {
  /** Undefined for an abandoned call: its parameters may be large, and are no longer counted anywhere. */
  origin: Exchange | undefined;
  /** The exchange that the server gets instead. Undefined for an abandoned call. */
  exchange: Exchange | undefined;
  readonly client: object | string;
  /** The key of calls that behave alike: if one of them asks, the others may ask too. */
  readonly name: string;
  /**
   * A `suspended` call waits for its client's answer. An `abandoned` call was cancelled, but the server may still ask
   * for it.
   */
  state: 'waiting' | 'running' | 'suspended' | 'abandoned' | 'ended' = 'waiting';
  /** The number of questions that wait for the client's answer. */
  open = 0;
  /** Whether this call may have asked, or another call of its client. */
  suspect = false;
  /** How many waiting questions it may have asked. */
  held = 0;
  readonly asks: () => boolean | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;

  constructor(origin: Exchange, client: object | string, ask: Ask, known: ReadonlyMap<string, boolean>) {
    const { method } = origin;
    const name = `${method} ${method === Method.ReadResource ? '' : String(origin.params['name'])}`;
    this.origin = origin;
    this.client = client;
    this.name = name.length <= MAX_NAME ? name : '';
    this.asks = () => (CAN_REQUIRE_INPUT.has(method) ? known.get(this.name) : false);
    this.exchange = derive(origin, { ask: (...question) => ask(this, ...question) });
  }
}

/** A question that waits for the client's answer. */
interface OpenQuestion {
  /** The call that waits for the answer, as far as that is known. */
  call: CallSlot;
  /** Whether another call of the client may have asked it. */
  readonly ambiguous: boolean;
}

/** The calls of one client in flight, and its open questions. */
class ClientCalls {
  readonly calls = new Set<CallSlot>();
  readonly questions = new Set<OpenQuestion>();
  /** Fires when the last call has ended. */
  readonly over = abortController();
}

/** What the calls in flight say about a message of the server. */
interface Finding {
  /** The calls that may have sent it. */
  readonly candidates: readonly CallSlot[];
  /** The exchange that it belongs to, if it is known. */
  readonly exchange: Exchange | undefined;
}

/** A question that calls of several clients could have asked. */
class HeldQuestion {
  /** The calls that could have asked it, without those that have ended. */
  readonly candidates: Set<CallSlot>;
  /** How many of them each client has. */
  readonly #clients = new Map<object | string, number>();
  readonly settle: (outcome: Exchange | RpcError) => void;

  constructor(candidates: readonly CallSlot[], settle: HeldQuestion['settle']) {
    this.candidates = new Set(candidates);
    this.settle = settle;
    for (const { client } of candidates) this.#clients.set(client, (this.#clients.get(client) ?? 0) + 1);
  }

  /** Whether only one client could have asked. */
  get decided(): boolean {
    return this.#clients.size === 1;
  }

  /** A call has ended. Returns whether that matters here. */
  ended(call: CallSlot): boolean {
    if (!this.candidates.delete(call)) return false;
    const left = this.#clients.get(call.client)! - 1;
    if (left === 0) this.#clients.delete(call.client);
    else this.#clients.set(call.client, left);
    return true;
  }
}

/**
 * Attributes questions to clients, on a connection that several clients share if the server does not name the call.
 *
 * - Calls of tools that ask take turns: the calls of one client at a time. A call leaves its turn while its user
 *   answers a question, and takes it again before the server gets the answer. So no client waits for another client's
 *   user.
 * - A tool that was called and did not ask is never delayed. If it asks after all, its question waits until the calls
 *   that were in flight when it came, and still are, belong to one client.
 * - A call that has run for 2 seconds no longer delays others, except tools that are known to ask.
 * - A cancelled call may still have asked, for 2 seconds or until the server answers it.
 * - If several calls of a client run, its questions within `BURST` count as questions of one call. If one call is left, it has
 *   asked all of them.
 * - A question ends when no call of its client is in flight any more. One client has at most 100 open questions.
 * - A question that cannot be attributed within 30 seconds is refused. So is one that comes while 100 others wait, or
 *   fewer if thousands of calls are in flight.
 *
 * Three cases cannot be decided: a call asks a second question more than `BURST` after its first, while that is open; the
 * server asks for a call that it has answered, or for one that was cancelled. Such a question is attributed to the client
 * whose turn it is.
 */
export class QuestionAttribution implements Attribution {
  /** Requests that the server processes, or may still process, oldest first. */
  readonly #calls = new Set<CallSlot>();
  /** The clients that have calls among these. */
  readonly #clients = new Map<CallSlot['client'], ClientCalls>();
  readonly #turns = new Turns();
  /** Thousands of calls may get their turns together. */
  readonly #starts = new FewPerTurn(100);
  /** Questions that calls of several clients could have asked. */
  readonly #held = new Set<HeldQuestion>();
  /** How many calls may have asked one of these questions. */
  #suspects = 0;
  /**
   * Whether a tool has ever asked, by its name. A tool that was never called has no entry. The tool used last is the
   * last entry.
   */
  readonly #asks = new Map<string, boolean>();
  readonly #oldestName = new Oldest(this.#asks);
  readonly #clientOf: ClientOf;
  /** The calls in flight by the exchanges that the server gets. */
  readonly #byExchange = new WeakMap<Exchange, CallSlot>();
  /**
   * The findings about questions and log messages. A server may send a thousand at once, so they are kept until a call
   * changes, but not longer than the current callback.
   */
  #findings: { question?: Finding; message?: Finding } | undefined;

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf;
  }

  /** How many calls wait for their turn. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /** Calls the service for an exchange, when it is the call's turn. */
  async answer(service: Service, exchange: Exchange): Promise<JsonObject> {
    const call = new CallSlot(exchange, this.#clientOf(exchange.caller) ?? {}, this.#ask, this.#asks);
    await this.#start(call, exchange);
    call.state = 'running';
    this.#add(call);
    this.#byExchange.set(call.exchange!, call);
    this.#findings = undefined;
    try {
      const result = await service(call.exchange!);
      if (!this.#asks.has(call.name) && !call.suspect) this.#remember(call.name, false);
      return result;
    } finally {
      if (isAborted(exchange)) this.#abandon(call);
      else this.#end(call);
    }
  }

  /** Waits until it is the call's turn. */
  async #start(call: CallSlot, exchange: Exchange): Promise<void> {
    const turn = this.#turns.take(call, exchange.signal);
    if (!turn) return;
    await turn;
    await new Promise<void>((resolve) => this.#starts.run(resolve));
    if (!isAborted(exchange)) return;
    this.#turns.leave(call);
    throw RpcError.from(exchange.signal.reason);
  }

  #add(call: CallSlot): void {
    this.#calls.add(call);
    let client = this.#clients.get(call.client);
    if (!client) this.#clients.set(call.client, (client = new ClientCalls()));
    client.calls.add(call);
  }

  #remove(call: CallSlot): void {
    if (!this.#calls.delete(call)) return;
    const client = this.#clients.get(call.client)!;
    client.calls.delete(call);
    if (client.calls.size > 0) return this.#settleOpen(client);
    this.#clients.delete(call.client);
    client.over.abort(new RpcError(ErrorCode.InvalidRequest, 'All calls that may have asked this have ended'));
  }

  /** If only one call of a client is left, it has asked the open questions, whichever call they were sent with. */
  #settleOpen({ calls, questions }: ClientCalls): void {
    const [last] = calls;
    if (calls.size > 1 || !last) return;
    for (const question of questions) {
      if (!question.ambiguous) continue;
      question.call.open -= 1;
      question.call = last;
      last.open += 1;
    }
    if (last.open > 0) this.#suspendSoon(last);
  }

  question(signal: AbortSignal): Exchange | Promise<Exchange> {
    const { candidates, exchange } = this.#find('question', () => {
      const calls = this.#candidates();
      return { candidates: calls, exchange: this.#asker(calls) };
    });
    return exchange ?? this.#hold(candidates, signal);
  }

  cancelled(exchange: Exchange): (() => void) | undefined {
    const call = this.#byExchange.get(exchange);
    return call && this.#calls.has(call) ? () => this.#end(call) : undefined;
  }

  message(): Exchange | undefined {
    return this.#find('message', () => {
      const calls = [...this.#calls];
      return { candidates: calls, exchange: isOneClient(calls) ? askable(calls) : undefined };
    }).exchange;
  }

  #find(kind: 'question' | 'message', find: () => Finding): Finding {
    const known = this.#findings?.[kind];
    if (known) return known;
    const finding = find();
    if (!this.#findings) queueMicrotask(() => (this.#findings = undefined));
    this.#findings = { ...this.#findings, [kind]: finding };
    return finding;
  }

  /** Asks the client. Meanwhile, calls of other clients may run. */
  readonly #ask: Ask = async (call, method, params, options) => {
    const client = this.#clients.get(call.client);
    if (!call.origin || !client) throw new NotAsked(method, call.name);
    if (client.questions.size >= MAX_OF_ONE) {
      const why = `${MAX_OF_ONE} questions to its client are open; wait until some are answered`;
      throw new RpcError(ErrorCode.InternalError, quoting`${method} was not asked: ${why}`);
    }
    const question: OpenQuestion = { call, ambiguous: client.calls.size > 1 };
    client.questions.add(question);
    call.open += 1;
    this.#findings = undefined;
    this.#suspendSoon(call);
    const { signal, release } = joined(options?.signal, client.over.signal);
    try {
      return await call.origin.ask(method, params, { ...options, signal });
    } finally {
      release();
      client.questions.delete(question);
      const waiting = question.call;
      waiting.open -= 1;
      this.#findings = undefined;
      // With the answer, the server continues the call and may ask again.
      if (waiting.state === 'suspended') await this.#resume(waiting);
      if (waiting.open > 0) this.#suspendSoon(waiting);
    }
  };

  async #resume(call: CallSlot): Promise<void> {
    if (!call.origin) return;
    call.state = 'waiting';
    this.#findings = undefined;
    await this.#turns.take(call, call.origin.signal, true);
    // The call may have ended meanwhile.
    if (call.state !== 'waiting') return;
    call.state = 'running';
    this.#findings = undefined;
  }

  #suspendSoon(call: CallSlot): void {
    if (call.state !== 'running') return;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => {
      if (call.open === 0 || call.state !== 'running') return;
      this.#leave(call, 'suspended');
    }, BURST);
  }

  #abandon(call: CallSlot): void {
    if (!this.#calls.has(call)) return;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    call.origin = call.exchange = undefined;
    this.#leave(call, 'abandoned');
  }

  /** Called when the server can no longer ask for the call. */
  #end(call: CallSlot): void {
    clearTimeout(call.timer);
    this.#remove(call);
    this.#leave(call, 'ended');
  }

  #leave(call: CallSlot, state: CallSlot['state']): void {
    call.state = state;
    this.#findings = undefined;
    if (state === 'ended' && call.held > 0) {
      this.#suspects -= 1;
      call.held = 0;
      for (const held of [...this.#held]) if (held.ended(call)) this.#settleHeld(held);
    }
    this.#turns.leave(call);
  }

  /** The calls that may have asked the question. */
  #candidates(): CallSlot[] {
    const calls = [...this.#calls];
    const active = calls.filter(({ state }) => state === 'running' || state === 'abandoned');
    const asking = active.filter(({ name }) => this.#asks.get(name) !== false);
    // If no running tool has ever asked, a call that waits for an answer may equally have asked again.
    return asking.length > 0 ? asking : calls;
  }

  /** The call through which the client is asked, if only one client is left. */
  #asker(left: readonly CallSlot[]): Exchange | undefined {
    if (!isOneClient(left)) return undefined;
    // Any of this client's calls may have asked, so none of their tools counts as a tool that does not ask.
    for (const call of left) {
      call.suspect = true;
      if (left.length === 1) this.#remember(call.name, true);
      else if (!this.#asks.get(call.name)) this.#asks.delete(call.name);
      if (call.state === 'running') this.#turns.hold(call);
    }
    return askable(left);
  }

  #hold(candidates: readonly CallSlot[], signal: AbortSignal): Promise<Exchange> {
    if (!this.#hasRoom(candidates.length)) return Promise.reject(refusal(candidates.length));
    return new Promise<Exchange>((resolve, reject) => {
      const question = new HeldQuestion(candidates, (outcome) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', takenBack);
        this.#held.delete(question);
        for (const call of question.candidates) if ((call.held -= 1) === 0) this.#suspects -= 1;
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      });
      const takenBack = (): void => question.settle(RpcError.from(signal.reason));
      const timer = setTimeout(() => this.#refuse(question), MAX_HELD);
      signal.addEventListener('abort', takenBack);
      this.#held.add(question);
      for (const call of candidates) if ((call.held += 1) === 1) this.#suspects += 1;
      this.#settleHeld(question);
      // Each of those calls may wait for one of these questions. Then no call would ever end, and no question could be
      // attributed.
      if (this.#held.size >= this.#suspects) for (const held of [...this.#held]) this.#refuse(held);
    });
  }

  /** Whether another question may wait that this many calls may have asked. */
  #hasRoom(candidates: number): boolean {
    if (this.#held.size === 0) return true;
    let compared = candidates;
    for (const held of this.#held) compared += held.candidates.size;
    return this.#held.size < MAX_QUESTIONS && compared <= MAX_COMPARED;
  }

  #settleHeld(question: HeldQuestion): void {
    const asker = question.decided ? this.#asker([...question.candidates]) : undefined;
    if (asker) question.settle(asker);
    else if (question.candidates.size === 0) this.#refuse(question);
  }

  #refuse({ candidates, settle }: HeldQuestion): void {
    for (const { name } of candidates) this.#remember(name, true);
    settle(refusal(candidates.size));
  }

  #remember(name: string, asks: boolean): void {
    if (this.#asks.get(name) !== asks) this.#findings = undefined;
    this.#asks.delete(name);
    this.#asks.set(name, asks);
    if (this.#asks.size > MAX_NAMES) this.#asks.delete(this.#oldestName.take()!);
  }
}

function refusal(candidates: number): RpcError {
  const asker =
    candidates > 0
      ? 'it is unknown which of their calls asked a question'
      : 'no running call can have asked a question';
  const what = 'Call again, or give each client its own connection (--per-session, with a credential for each client)';
  return new RpcError(ErrorCode.InternalError, `Several clients share this connection, and ${asker}. ${what}`);
}

function isOneClient(calls: readonly CallSlot[]): boolean {
  return calls.every(({ client }) => client === calls[0]!.client);
}

/**
 * The call through which the client is asked. This is a call that has just asked, if there is one: it may ask several questions
 * at once, and then its client's other calls still need their turn. Otherwise it is the newest call, and a call that already
 * waits for an answer comes last.
 */
function askable(calls: Iterable<CallSlot>): Exchange | undefined {
  const able = [...calls].filter(({ state }) => state !== 'abandoned');
  const asking = able.findLast(({ state, open }) => state === 'running' && open > 0);
  if (asking) return asking.exchange;
  return able.reduce<CallSlot | undefined>((best, call) => (best && best.open < call.open ? best : call), undefined)
    ?.exchange;
}
