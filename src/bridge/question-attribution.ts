import { abortController } from '../base/abort-controller.ts';
import { joined } from '../base/abort.ts';
import { Deferred } from '../base/deferred.ts';
import { Newest } from '../base/newest.ts';
import { inNextTurn } from '../base/next-turn.ts';
import { Oldest } from '../base/oldest.ts';
import { quoting } from '../base/short-text.ts';
import { waitFor } from '../base/wait.ts';
import { derive } from '../core/derive.ts';
import { NotAsked, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../protocol/methods.ts';
import { allEnded, type Attribution } from '../wire/legacy/outbound/attribution.ts';

/** Milliseconds that a question may wait until only one client could have asked it. */
const HOLD = 10_000;
/** Milliseconds that a call may wait for its turn. */
const TURN = 30_000;
/**
 * Milliseconds for which a call that was cancelled or has timed out may still ask, because the server may not have processed the cancellation
 * yet.
 */
const ABANDONED = 2000;
/** The most open questions to one client, so that it cannot take the room of all others. */
const MAX_OF_ONE = 100;
/** The most questions that wait at a time. */
const MAX_HELD = 100;
/** The most clients that may have asked a question that waits. */
const MAX_CLIENTS = 1000;
/** The most names of tools, prompts and other requests that are remembered. */
const MAX_NAMES = 1000;
/** The most characters of a name that is remembered. Clients can invent longer ones, and a server need not refuse them. */
const MAX_NAME = 256;
/** How many calls begin in one turn of the event loop. */
const BEGIN_TOGETHER = 100;

/** The key that all callers of one client share. Undefined for an unknown caller. */
export type ClientOf = (caller: Caller) => object | string | undefined;

/** One request that the server processes, or may still process. */
interface Call {
  readonly name: string | undefined;
  readonly client: Client;
  /** How many calls had begun with it. */
  readonly number: number;
  /** Whether it is of a tool that asks. */
  readonly asks: boolean;
  /** The exchange that the server gets. Undefined for a cancelled call: its parameters are no longer counted anywhere. */
  exchange?: Exchange | undefined;
  ended?: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

/** The calls of one client in flight. */
class Client {
  readonly key: object | string;
  readonly running = new Newest<Call>();
  /** How many calls were cancelled, and may still ask. */
  cancelled = 0;
  /** How many of its calls are of tools that ask. */
  asking = 0;
  /** How many calls of all clients had begun when it was last asked, or may have been. */
  askedAfter = 0;
  /** How many of its own had begun by then, and have not ended. */
  askers = 0;
  /** How many of its questions are open. */
  questions = 0;
  /** Fires when the last call has ended. */
  readonly over = abortController();

  constructor(key: object | string) {
    this.key = key;
  }

  /** How many calls the server may still ask for. */
  get size(): number {
    return this.running.size + this.cancelled;
  }
}

/** A question that waits until only one client could have asked it. */
interface HeldQuestion {
  /** How many calls had begun when it came. */
  readonly after: number;
  /** How many calls of each client could have asked it. */
  readonly candidates: Map<Client, number>;
  readonly decision: Deferred<Exchange>;
}

/**
 * Attributes questions to clients, on a connection that several clients share, if the server does not name the call. The rules are in
 * docs/bridge.md (Questions on a shared connection). In detail:
 *
 * - A call that asks waits while another client has one in flight, or a call that was cancelled or during which it was asked, and while
 *   a question waits.
 * - A tool asks if its call was the only one of its client when that was asked, or was in flight when a question was refused after 10
 *   seconds, until one of its calls has ended during which its client was not asked.
 */
export class QuestionAttribution implements Attribution {
  readonly shared = true;
  /** The clients that have calls in flight. */
  readonly #clients = new Map<object | string, Client>();
  /** The clients that have the turn. */
  readonly #turns = new Set<Client | undefined>();
  /** Functions that begin the calls which wait for their turn, and the clients of these. */
  readonly #waiting = new Map<() => void, object | string>();
  readonly #held = new Set<HeldQuestion>();
  /** How many calls have begun. */
  #begun = 0;
  /** Whether further calls begin only in the next turn of the event loop. */
  #pausing = false;
  /** How many calls had begun when the question came that was last refused after 10 seconds. */
  #refusedAfter = 0;
  /** The names of tools that ask. The one that asked last is the last entry. */
  readonly #names = new Set<string | undefined>();
  readonly #oldestName = new Oldest(this.#names);
  readonly #clientOf: ClientOf;
  /** The calls in flight by the exchanges that the server gets. */
  readonly #byExchange = new WeakMap<Exchange, Call>();

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf;
  }

  /** How many calls wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls the service for an exchange, when it is the call's turn. */
  async answer(service: Service, exchange: Exchange): Promise<JsonObject> {
    const key = this.#clientOf(exchange.caller) ?? {};
    const begin = (): Call => this.#begin(exchange, key);
    const isFree = !this.#names.has(nameOf(exchange)) || (this.#waiting.size === 0 && this.#mayBegin(key));
    const call = isFree ? begin() : await this.#inTurn(begin, key, exchange.signal);
    try {
      return await service(call.exchange!);
    } finally {
      if (call.exchange) this.#end(call);
    }
  }

  /** Whether a call that may ask can begin. */
  #mayBegin(key: object | string): boolean {
    const own = this.#turns.has(this.#clients.get(key)) ? 1 : 0;
    return this.#held.size === 0 && this.#turns.size === own;
  }

  /** @throws RpcError if the signal fires before the call has begun. */
  async #inTurn(begin: () => Call, key: object | string, signal: AbortSignal): Promise<Call> {
    const turn = new Deferred<Call>();
    const take = (): void => {
      this.#waiting.delete(take);
      turn.resolve(begin());
    };
    const cancel = (): void => {
      if (this.#waiting.delete(take)) turn.reject(RpcError.from(signal.reason));
    };
    this.#waiting.set(take, key);
    const timer = setTimeout(take, TURN).unref();
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    try {
      return await turn.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Begins the calls whose turn it is, in order of arrival. */
  #beginNext(): void {
    if (this.#pausing) return;
    let begun = 0;
    for (const [take, key] of this.#waiting) {
      if (!this.#mayBegin(key)) return;
      if ((begun += 1) > BEGIN_TOGETHER) {
        this.#pausing = true;
        return inNextTurn(() => {
          this.#pausing = false;
          this.#beginNext();
        });
      }
      take();
    }
  }

  #begin(origin: Exchange, key: object | string): Call {
    const client = this.#clients.get(key) ?? new Client(key);
    this.#clients.set(key, client);
    const name = nameOf(origin);
    const call: Call = { name, client, number: (this.#begun += 1), asks: this.#names.has(name) };
    call.exchange = derive(origin, { ask: (...question) => this.#ask(call, origin, question) });
    this.#byExchange.set(call.exchange, call);
    client.running.add(call);
    if (call.asks) client.asking += 1;
    this.#updateTurn(client);
    return call;
  }

  #remember({ name }: Call): void {
    if (name === undefined) return;
    this.#names.delete(name);
    this.#names.add(name);
    if (this.#names.size > MAX_NAMES) this.#names.delete(this.#oldestName.take());
  }

  #updateTurn(client: Client): void {
    if (client.asking + client.askers > 0) this.#turns.add(client);
    else this.#turns.delete(client);
  }

  question(signal: AbortSignal, _method?: string, last?: Exchange): Exchange | Promise<Exchange> {
    const asked = last && this.#byExchange.get(last)?.client;
    if (asked) return asked.running.last?.exchange ?? Promise.reject(allEnded());
    if (this.#clients.size > 1) return this.#hold(signal);
    const [only] = this.#clients.values();
    return (only && this.#askThrough(only)) ?? Promise.reject(refusal('no running call can have asked a question'));
  }

  cancelled(exchange: Exchange): (() => void) | undefined {
    const call = this.#byExchange.get(exchange);
    if (!call?.exchange) return undefined;
    this.#abandon(call);
    return () => this.#end(call);
  }

  message(): Exchange | undefined {
    const [only] = this.#clients.values();
    return this.#clients.size === 1 ? only!.running.last?.exchange : undefined;
  }

  /** Asks the client. */
  async #ask({ client, exchange }: Call, origin: Exchange, question: Parameters<Exchange['ask']>): Promise<JsonObject> {
    const [method, params, options] = question;
    if (!exchange || client.size === 0) throw new NotAsked(method, origin.method);
    if (client.questions >= MAX_OF_ONE) {
      const why = `${MAX_OF_ONE} questions to its client are open; wait until some are answered`;
      throw new RpcError(ErrorCode.InternalError, quoting`${method} was not asked: ${why}`);
    }
    client.questions += 1;
    const { signal, release } = joined(options?.signal, client.over.signal);
    try {
      return await origin.ask(method, params, { ...options, signal });
    } finally {
      release();
      client.questions -= 1;
    }
  }

  #abandon(call: Call): void {
    const { client } = call;
    client.running.delete(call);
    client.cancelled += 1;
    call.exchange = undefined;
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    this.#countAsked(client, this.#begun, client.size);
  }

  /** Called when the server can no longer ask for the call. */
  #end(call: Call): void {
    if (call.ended) return;
    call.ended = true;
    const { client } = call;
    clearTimeout(call.timer);
    if (call.exchange) client.running.delete(call);
    else client.cancelled -= 1;
    if (call.asks) client.asking -= 1;
    if (call.number <= client.askedAfter) client.askers -= 1;
    else this.#names.delete(call.name);
    this.#updateTurn(client);
    if (client.size === 0) {
      this.#clients.delete(client.key);
      client.over.abort(allEnded());
    }
    for (const question of this.#held) this.#exclude(call, question);
    this.#beginNext();
  }

  /** @param askers how many of the first `after` calls belong to the client and have not ended. */
  #countAsked(client: Client, after: number, askers: number): void {
    if (after < client.askedAfter) return;
    client.askedAfter = after;
    client.askers = askers;
    this.#updateTurn(client);
  }

  /** The exchange through which a client is asked. Undefined if all its calls were cancelled. */
  #askThrough(client: Client, after = this.#begun, askers = client.size): Exchange | undefined {
    this.#countAsked(client, after, askers);
    if (client.size === 1 && client.running.last) this.#remember(client.running.last);
    return client.running.last?.exchange;
  }

  async #hold(signal: AbortSignal): Promise<Exchange> {
    if (this.#held.size >= MAX_HELD || this.#clients.size > MAX_CLIENTS) throw refusal();
    const candidates = new Map(Array.from(this.#clients.values(), (client) => [client, client.size]));
    const question = { after: this.#begun, candidates, decision: new Deferred<Exchange>() };
    this.#held.add(question);
    const timeoutError = (): RpcError => this.#unknownAsker(question);
    try {
      return await waitFor(question.decision.promise, { signal, timeout: HOLD, timeoutError });
    } finally {
      this.#held.delete(question);
      this.#beginNext();
    }
  }

  /** A call has ended, so it no longer counts. If it was cancelled, it may have asked, and no other client must be asked. */
  #exclude(call: Call, question: HeldQuestion): void {
    const { after, candidates, decision } = question;
    const left = candidates.get(call.client);
    if (left === undefined || call.number > after) return;
    if (left > 1) candidates.set(call.client, left - 1);
    else candidates.delete(call.client);
    const wasCancelled = call.exchange === undefined;
    if (candidates.size > 1 && !wasCancelled) return;
    this.#held.delete(question);
    const [only] = candidates.keys();
    const exchange = wasCancelled ? undefined : this.#askThrough(only!, after, candidates.get(only!));
    if (exchange) decision.resolve(exchange);
    else decision.reject(refusal());
  }

  #unknownAsker({ after, candidates }: HeldQuestion): RpcError {
    for (const [client, askers] of candidates) {
      this.#countAsked(client, after, askers);
      // Earlier questions have marked the others: a hundred questions must not mark thousands of calls each.
      for (const call of client.running.values())
        if (call.number > this.#refusedAfter && call.number <= after) this.#remember(call);
    }
    this.#refusedAfter = after;
    return refusal();
  }
}

/** What calls that behave alike have in common. Undefined for lists and the like, which hardly ask, and for very long names. */
function nameOf({ method, params }: Exchange): string | undefined {
  if (!CAN_REQUIRE_INPUT.has(method)) return undefined;
  const name = `${method} ${method === Method.ReadResource ? '' : String(params['name'])}`;
  return name.length <= MAX_NAME ? name : undefined;
}

function refusal(why = 'it is unknown which of their calls asked a question'): RpcError {
  const what = 'Call again, or give each client its own connection (--per-session, with a credential for each client)';
  return new RpcError(ErrorCode.InternalError, `Several clients share this connection, and ${why}. ${what}`);
}
