import { abortController } from '../base/abort-controller.ts';
import { joined } from '../base/abort.ts';
import { Deferred } from '../base/deferred.ts';
import { Newest } from '../base/newest.ts';
import { Oldest } from '../base/oldest.ts';
import { quoting } from '../base/short-text.ts';
import { idlePause, waitFor } from '../base/wait.ts';
import { isAborted } from '../core/base-exchange.ts';
import { derive } from '../core/derive.ts';
import { NotAsked, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../protocol/methods.ts';
import { allEnded, type Attribution } from '../wire/legacy/outbound/attribution.ts';
import { Turns, type TurnTaker } from './turns.ts';

/** How many milliseconds a call of an unknown tool delays others. */
const LONG = 2000;
/** A call gives up its turn this many milliseconds after a question. Meanwhile it may ask more. */
const BURST = 10;
/** Milliseconds that a question may wait until only one client could have asked it. */
const HOLD = 10_000;
/**
 * Milliseconds for which a call that was cancelled or has timed out may still ask, because the server may not have
 * processed the cancellation yet.
 */
const ABANDONED = 2000;
/** The most open questions to one client, so that it cannot take the room of all others. */
const MAX_OF_ONE = 100;
/** The most questions that wait at a time. */
const MAX_HELD = 100;
/** The most calls that may have asked a question that waits. */
const MAX_CANDIDATES = 1000;
/** The most names of tools, prompts and other requests that are remembered. */
const MAX_NAMES = 1000;
/** The most characters of a name. Clients can invent longer names, and a server need not refuse them. All longer names count as one. */
const MAX_NAME = 256;

const UNKNOWN_ASKER = 'it is unknown which of their calls asked a question';
const NO_ASKER = 'no running call can have asked a question';

/** The key that all callers of one client share. Undefined for an unknown caller. */
export type ClientOf = (caller: Caller) => object | string | undefined;

type Ask = (call: CallSlot, ...question: Parameters<Exchange['ask']>) => Promise<JsonObject>;

/**
 * What is known of a tool or another kind of request. It `asks`: a call has asked. It is `quiet`: a call has ended without a question,
 * and none has asked. It is `slow`: a call has run for two seconds, and none has ended yet.
 */
type Kind = 'asks' | 'quiet' | 'slow';

/** A call runs and may ask, runs and never asks, waits for its client's answer, or was cancelled and may still ask. */
const STATES = ['running', 'quiet', 'waiting', 'abandoned'] as const;

/** One request in flight. */
class CallSlot implements TurnTaker {
  /** Undefined for an abandoned call: its parameters may be large, and are no longer counted anywhere. */
  origin: Exchange | undefined;
  /** The exchange that the server gets instead. Undefined for an abandoned call. */
  exchange: Exchange | undefined;
  /** Calls of the same name behave alike. */
  readonly name: string;
  readonly kind: () => Kind | undefined;
  readonly turn: () => number;
  state: (typeof STATES)[number] | 'new' | 'ended' = 'new';
  client!: ClientCalls;
  /** How many calls had begun with it. */
  number = 0;
  /** How many of its questions wait for the client's answer. */
  open = 0;
  /** Whether it was cancelled while it ran, so that questions that wait may be of this call. */
  mayHaveAsked = false;
  /** Resolves when a waiting call that has an answer has its turn again. */
  returns: Promise<void> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;

  constructor(origin: Exchange, ask: Ask, kinds: ReadonlyMap<string, Kind>) {
    const { method, params } = origin;
    const name = `${method} ${method === Method.ReadResource ? '' : String(params['name'])}`;
    this.origin = origin;
    this.name = name.length <= MAX_NAME ? name : '';
    this.kind = () => (CAN_REQUIRE_INPUT.has(method) ? kinds.get(this.name) : 'slow');
    this.turn = () => ({ asks: Infinity, quiet: 0, slow: 0, unknown: LONG })[this.kind() ?? 'unknown'];
    this.exchange = derive(origin, { ask: (...question) => ask(this, ...question) });
  }
}

/** A question that waits for the client's answer. */
interface OpenQuestion {
  /** The call that waits for the answer. Undefined if several calls of the client could have asked. */
  asker: CallSlot | undefined;
  /** How many calls had begun when it came. */
  readonly after: number;
}

/** The calls of one client in flight, and its open questions. */
class ClientCalls {
  readonly running = new Newest<CallSlot>();
  readonly quiet = new Newest<CallSlot>();
  readonly waiting = new Newest<CallSlot>();
  readonly abandoned = new Newest<CallSlot>();
  readonly questions = new Set<OpenQuestion>();
  /** How many calls had begun when one of its calls last asked, or may have asked. */
  asked = 0;
  /** Fires when the last call has ended. */
  readonly over = abortController();

  get size(): number {
    return this.active + this.quiet.size + this.waiting.size;
  }

  /** How many calls may ask now. */
  get active(): number {
    return this.running.size + this.abandoned.size;
  }

  /** The calls that may ask now. If there are none, all. */
  get candidates(): CallSlot[] {
    const states = this.active > 0 ? (['running', 'abandoned'] as const) : STATES;
    return states.flatMap((state) => Array.from(this[state].values()));
  }

  /** The newest call through which the client can be asked: if possible, one that may ask now. */
  get newest(): CallSlot | undefined {
    return this.running.last ?? this.quiet.last ?? this.waiting.last;
  }

  /** The only call that may ask now. */
  get only(): CallSlot | undefined {
    return this.active === 1 ? this.running.last : undefined;
  }
}

type Clients = ReadonlySet<ClientCalls> | ReadonlyMap<unknown, ClientCalls>;

/**
 * Attributes questions to clients, on a connection that several clients share if the server does not name the call.
 *
 * - A question waits until all calls that could have asked it belong to one client. After 10 seconds it is refused. So is one that
 *   comes while 100 others wait, or that any of more than 1,000 calls could have asked.
 * - Active calls could have asked: those that run, without those of quiet tools. If there are none, any call could have, for the first
 *   time or once more. A cancelled call still can for 2 seconds, or until the server answers it.
 * - Calls of tools that ask take turns, so a question seldom waits. A turn ends with the call, or `BURST` after a question. With the
 *   answer, the call takes its turn again. So no call waits for the user of another one.
 * - Unknown tools take turns, too, but such a call delays others for 2 seconds at most.
 * - If several calls of the client could have asked, none of them counts as waiting for the answer until only one is left.
 * - A question ends when no call of its client is in flight any more. One client has at most 100 open questions.
 *
 * Some cases cannot be decided: a call asks a second question more than `BURST` after its first, while that is open; a quiet tool
 * asks for the first time; the server asks for a call that it has answered, answers one without waiting for its answer, or asks for
 * one that was cancelled while it waited. Such a question can reach another client, whose call is active.
 */
export class QuestionAttribution implements Attribution {
  readonly shared = true;
  /** The clients that have requests which the server processes, or may still process. */
  readonly #clients = new Map<object | string, ClientCalls>();
  /** Those of which a call may ask now. */
  readonly #active = new Set<ClientCalls>();
  /** How many calls have begun. */
  #begun = 0;
  readonly #turns = new Turns<CallSlot>((call) => {
    if (call.kind() === undefined) this.#remember(call.name, 'slow');
  });
  /** Questions that calls of several clients could have asked, with these calls. */
  readonly #held = new Map<Deferred<Exchange>, Map<ClientCalls, Set<CallSlot>>>();
  /** What is known of each name. The name used last is the last entry. */
  readonly #kinds = new Map<string, Kind>();
  readonly #oldestName = new Oldest(this.#kinds);
  readonly #clientOf: ClientOf;
  /** The calls in flight by the exchanges that the server gets. */
  readonly #byExchange = new WeakMap<Exchange, CallSlot>();

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf;
  }

  /** How many calls wait for their turn. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /** Calls the service for an exchange, when it is the call's turn. */
  async answer(service: Service, exchange: Exchange): Promise<JsonObject> {
    const call = new CallSlot(exchange, this.#ask, this.#kinds);
    await this.#takeTurn(call, exchange);
    this.#begin(call, this.#clientOf(exchange.caller) ?? {});
    let ended = false;
    try {
      const result = await service(call.exchange!);
      // Wrong arguments may have ended it before it asked.
      ended = result['isError'] !== true;
      return result;
    } finally {
      if (ended && call.client.asked < call.number && call.kind() !== 'asks') this.#remember(call.name, 'quiet');
      if (call.state !== 'abandoned') this.#end(call);
    }
  }

  async #takeTurn(call: CallSlot, exchange: Exchange): Promise<void> {
    const turn = this.#turns.take(call, exchange.signal);
    if (!turn) return;
    await turn;
    if (!isAborted(exchange)) return;
    this.#turns.leave(call);
    throw RpcError.from(exchange.signal.reason);
  }

  #begin(call: CallSlot, key: object | string): void {
    let client = this.#clients.get(key);
    if (!client) {
      this.#clients.set(key, (client = new ClientCalls()));
      client.over.signal.addEventListener('abort', () => this.#clients.delete(key), { once: true });
    }
    call.client = client;
    call.number = this.#begun += 1;
    this.#byExchange.set(call.exchange!, call);
    this.#move(call, call.kind() === 'quiet' ? 'quiet' : 'running');
  }

  #move(call: CallSlot, state: CallSlot['state']): void {
    const { client } = call;
    for (const each of STATES) {
      if (each === call.state) client[each].delete(call);
      if (each === state) client[each].add(call);
    }
    call.state = state;
    if (client.active > 0) this.#active.add(client);
    else this.#active.delete(client);
    this.#findAsker(client);
  }

  /** If only one call of a client may still ask, it has asked all questions whose asker was unknown. */
  #findAsker({ only }: ClientCalls): void {
    if (only && this.#takeQuestions(only)) this.#waitSoon(only);
  }

  /** The call counts as the asker of its client's questions that have none. Returns whether there are any. */
  #takeQuestions(call: CallSlot): boolean {
    const before = call.open;
    for (const question of call.client.questions) {
      if (question.asker || call.number > question.after) continue;
      question.asker = call;
      call.open += 1;
    }
    return call.open > before;
  }

  question(signal: AbortSignal, _method?: string, last?: Exchange): Exchange | Promise<Exchange> {
    const asked = last && this.#byExchange.get(last)?.client;
    if (asked && !asked.newest) throw allEnded();
    if (asked) return asked.newest!.exchange!;
    // If no call is active, any call may have asked, for the first time or once more.
    const clients = this.#active.size > 0 ? this.#active : this.#clients;
    if (clients.size > 1) return this.#hold(signal, clients);
    const [only] = clients.values();
    return (only && this.#askThrough(only)) ?? Promise.reject(refusal(NO_ASKER));
  }

  cancelled(exchange: Exchange): (() => void) | undefined {
    const call = this.#byExchange.get(exchange);
    if (!call || call.state === 'ended') return undefined;
    // What is returned here keeps the call in memory, and only `#abandon` frees its parameters.
    const isQuiet = call.state === 'quiet';
    this.#abandon(call);
    return isQuiet ? undefined : () => this.#end(call);
  }

  message(): Exchange | undefined {
    const [only] = this.#clients.values();
    return this.#clients.size === 1 ? only!.newest?.exchange : undefined;
  }

  /** Asks the client. Meanwhile, other calls may run. */
  readonly #ask: Ask = async (call, method, params, options) => {
    const { client, origin } = call;
    if (!origin || client.size === 0) throw new NotAsked(method, call.name);
    if (client.questions.size >= MAX_OF_ONE) {
      const why = `${MAX_OF_ONE} questions to its client are open; wait until some are answered`;
      throw new RpcError(ErrorCode.InternalError, quoting`${method} was not asked: ${why}`);
    }
    const question: OpenQuestion = { asker: undefined, after: this.#begun };
    client.questions.add(question);
    this.#findAsker(client);
    const { signal, release } = joined(options?.signal, client.over.signal);
    options?.signal?.addEventListener('abort', () => this.#resume(question.asker));
    try {
      return await origin.ask(method, params, { ...options, signal });
    } finally {
      release();
      client.questions.delete(question);
      const { asker } = question;
      if (asker) {
        asker.open -= 1;
        // With the answer, the server continues the call, which may ask again.
        if (asker.state === 'waiting') await (asker.returns ??= this.#return(asker));
        this.#waitSoon(asker);
      }
    }
  };

  /** The server has taken a question back, so it continues the call at once. */
  #resume(call: CallSlot | undefined): void {
    if (call?.state !== 'waiting') return;
    this.#turns.keep(call);
    this.#move(call, 'running');
  }

  async #return(call: CallSlot): Promise<void> {
    // A server may run one call after another. Then the call whose turn it is ends only when this one has got its answer.
    const turn = this.#turns.take(call, call.origin!.signal, true);
    if (turn) await Promise.race([turn, idlePause(LONG)]);
    // The call may have ended meanwhile.
    if (call.state === 'waiting') this.#move(call, 'running');
  }

  #waitSoon(call: CallSlot): void {
    if (call.state !== 'running' || call.open === 0) return;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => {
      if (call.open === 0 || call.state !== 'running') return;
      call.returns = undefined;
      this.#move(call, 'waiting');
      this.#turns.leave(call);
    }, BURST);
  }

  #abandon(call: CallSlot): void {
    if (call.state === 'ended') return;
    if (call.state === 'quiet') return this.#end(call);
    clearTimeout(call.timer);
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    call.origin = call.exchange = undefined;
    call.mayHaveAsked = call.state === 'running';
    if (call.mayHaveAsked) this.#turns.keep(call);
    // No other call of the client may take the questions for its own when this one has ended.
    this.#takeQuestions(call);
    this.#move(call, 'abandoned');
  }

  /** Called when the server can no longer ask for the call. */
  #end(call: CallSlot): void {
    if (call.state === 'ended') return;
    clearTimeout(call.timer);
    this.#move(call, 'ended');
    this.#turns.leave(call);
    if (call.client.size === 0) call.client.over.abort(allEnded());
    this.#exclude(call);
  }

  /** The exchange through which a client is asked. Any of its calls that may ask has asked, or if there are none, any call. */
  #askThrough(client: ClientCalls): Exchange | undefined {
    client.asked = this.#begun;
    for (const call of client.active === 0 ? [...client.quiet.values()] : []) {
      this.#kinds.delete(call.name);
      this.#move(call, 'running');
    }
    if (client.only) this.#remember(client.only.name, 'asks');
    return client.newest?.exchange;
  }

  async #hold(signal: AbortSignal, clients: Clients): Promise<Exchange> {
    let calls = 0;
    for (const client of clients.values()) {
      client.asked = this.#begun;
      calls += client.active || client.size;
    }
    if (this.#held.size >= MAX_HELD || calls > MAX_CANDIDATES) throw refusal(UNKNOWN_ASKER);
    const candidates = new Map(Array.from(clients.values(), (client) => [client, new Set(client.candidates)]));
    const question = new Deferred<Exchange>();
    this.#held.set(question, candidates);
    const timeoutError = (): RpcError => this.#unknownAsker(candidates);
    try {
      return await waitFor(question.promise, { signal, timeout: HOLD, timeoutError });
    } finally {
      this.#held.delete(question);
    }
  }

  /** A call has ended, so it is no longer a candidate. If it was cancelled, it may have asked, and no other client must be asked. */
  #exclude(call: CallSlot): void {
    const { client, mayHaveAsked } = call;
    for (const [question, candidates] of this.#held) {
      const calls = candidates.get(client);
      if (!calls?.delete(call)) continue;
      if (calls.size === 0) candidates.delete(client);
      if (candidates.size > 1 && !mayHaveAsked) continue;
      this.#held.delete(question);
      const [only] = candidates.keys();
      const exchange = mayHaveAsked ? undefined : this.#askThrough(only!);
      if (exchange) question.resolve(exchange);
      else question.reject(refusal(mayHaveAsked ? UNKNOWN_ASKER : NO_ASKER));
    }
  }

  #unknownAsker(candidates: ReadonlyMap<ClientCalls, ReadonlySet<CallSlot>>): RpcError {
    for (const [client, calls] of candidates) {
      client.asked = this.#begun;
      for (const { name, kind } of calls) if (kind() !== 'asks') this.#kinds.delete(name);
    }
    return refusal(UNKNOWN_ASKER);
  }

  #remember(name: string, kind: Kind): void {
    this.#kinds.delete(name);
    this.#kinds.set(name, kind);
    if (this.#kinds.size > MAX_NAMES) this.#kinds.delete(this.#oldestName.take()!);
  }
}

function refusal(why: string): RpcError {
  const what = 'Call again, or give each client its own connection (--per-session, with a credential for each client)';
  return new RpcError(ErrorCode.InternalError, `Several clients share this connection, and ${why}. ${what}`);
}
