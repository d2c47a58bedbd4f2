import { abortController } from '../base/abort-controller.ts';
import { joined } from '../base/abort.ts';
import { Deferred } from '../base/deferred.ts';
import { Newest } from '../base/newest.ts';
import { Recent } from '../base/recent.ts';
import { quoting } from '../base/short-text.ts';
import { waitFor } from '../base/wait.ts';
import { derive } from '../core/derive.ts';
import { NotAsked, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../protocol/methods.ts';
import { allEnded, type Attribution } from '../wire/legacy/outbound/attribution.ts';
import { canAsk } from '../wire/legacy/outbound/calls-in-flight.ts';
import { TaskClients } from './task-clients.ts';
import { checkRelatedTask, relatedTask } from './task-ids.ts';
import { Turns, type Turn } from './turns.ts';

/** Milliseconds that a question may wait until only one client could have asked it. */
const HOLD = 10_000;
/** Milliseconds for which a client may leave a question unanswered while others wait for their turn. */
const ANSWER = 60_000;
/** Milliseconds for which a call that was cancelled or has timed out may still ask: the server may not have processed that yet. */
const ABANDONED = 2000;
/** How many milliseconds a call may wait for its turn if it is unknown whether its tool asks, and how many more if it asks. */
const UNKNOWN = 2000;
const ASKS = 28_000;
/** The most open questions to one client, so that it cannot take the room of all others. */
const MAX_OF_ONE = 100;
/** The most questions that wait at a time. */
const MAX_HELD = 100;
/** The most clients that may have asked a question that waits. */
const MAX_CLIENTS = 1000;
/** The most characters of a name. All longer ones count as one: clients can invent them, and a server need not refuse them. */
const MAX_NAME = 256;

const UNKNOWN_ASKER = 'it is unknown which of their calls asked a question';

/** The key that all callers of one client share. Undefined for an unknown caller. */
export type ClientOf = (caller: Caller) => object | string | undefined;

/** One request that the server processes, or may still process. */
interface Call {
  /** Calls of the same name behave alike. Undefined for lists and the like, which hardly ask. */
  readonly name: string | undefined;
  readonly client: Client;
  /** How many calls had begun with it. */
  readonly number: number;
  /** The exchange that the server gets. Undefined for a cancelled call: its parameters may be large, and are no longer counted anywhere. */
  exchange: Exchange | undefined;
  /** The turn that it keeps until it ends. */
  turn: Turn | undefined;
  timer?: ReturnType<typeof setTimeout>;
}

class Client {
  readonly key: object | string;
  /** The calls in flight. */
  readonly calls = new Newest<Call>();
  /** Those through which the client can be asked. */
  readonly askable = new Newest<Call>();
  /** How many calls had begun when it was last asked. */
  askedAfter = 0;
  /** How many questions the client has not answered. */
  open = 0;
  /** Fires when the last call has ended. */
  readonly over = abortController();

  constructor(key: object | string) {
    this.key = key;
  }
}

/** A question that waits until only one client could have asked it. */
interface HeldQuestion {
  /** How many calls had begun when it came. */
  readonly after: number;
  /** How many calls of each client could have asked it. */
  readonly candidates: Map<Client, number>;
  /** It keeps others from their turns. Whoever is asked keeps it. */
  readonly turn: Turn;
  readonly decision: Deferred<Exchange>;
}

/**
 * Attributes questions to clients, on a connection that several clients share if the server does not name the call.
 *
 * - A question waits until all calls that were in flight when it came, and have not ended, belong to one client. After 10 seconds it
 *   is refused. So is one that comes while 100 others wait, or while more than 1,000 clients have calls.
 * - A call that was cancelled or has timed out counts for 2 seconds, or until the server answers it. Then each question that it could
 *   have asked is refused.
 * - Clients take turns to call tools that ask, and unknown ones. Such a call waits while another client has one in flight, or a
 *   call that was cancelled or through which it was asked, and while a question waits: for 30 seconds, or 2 if it is unknown.
 * - A question ends when no call of its client is in flight any more, or after a minute if others wait. One client has at most 100 open questions.
 *
 * So a question reaches another client only if the server asks it for a call that it has answered, or that was cancelled 2 seconds ago.
 */
export class QuestionAttribution implements Attribution {
  readonly shared = true;
  /** The clients that have calls in flight. */
  readonly #clients = new Map<object | string, Client>();
  readonly #turns = new Turns();
  /** Whether tools and the like ask, by name, for 1,000 names. Unknown ones and those that ask take turns. */
  readonly #tools = new Recent<'asks' | 'quiet'>(1000);
  readonly #held = new Set<HeldQuestion>();
  /** How many calls have begun. */
  #begun = 0;
  readonly #tasks = new TaskClients();
  readonly #clientOf: ClientOf;
  /** The calls in flight by the exchanges that the server gets. */
  readonly #byExchange = new WeakMap<Exchange, Call>();
  /** The signals of questions that name neither call nor task. */
  readonly #unnamed = new WeakSet<AbortSignal>();

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf;
  }

  /** How many calls wait for their turn. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /** Calls the service when it is the exchange's turn. @param takesTurns whether the server asks questions by requests of its own. */
  async answer(service: Service, origin: Exchange, takesTurns = true): Promise<JsonObject> {
    const key = this.#clientOf(origin.caller) ?? {};
    const name = nameOf(origin);
    const turn =
      takesTurns && name !== undefined && this.#tools.get(name) !== 'quiet' ? this.#turns.join(key) : undefined;
    if (turn) await this.#turns.wait(turn, origin.signal, UNKNOWN);
    if (turn && this.#tools.get(name) === 'asks') await this.#turns.wait(turn, origin.signal, ASKS);
    const call = this.#begin(origin, key, name, turn);
    try {
      this.#tasks.add(origin.params['taskId'], key);
      const result = await service(call.exchange!);
      this.#tasks.add(result['task']?.taskId, key);
      // Wrong arguments may have ended it before it asked.
      if (turn && call.number > call.client.askedAfter && result['isError'] !== true) this.#tools.add(name, 'quiet');
      return result;
    } finally {
      // Otherwise it was cancelled.
      if (call.exchange) this.#end(call);
    }
  }

  #begin(origin: Exchange, key: Client['key'], name: Call['name'], turn: Turn | undefined): Call {
    const client = this.#clients.get(key) ?? new Client(key);
    this.#clients.set(key, client);
    const call: Call = { name, client, number: (this.#begun += 1), exchange: undefined, turn };
    call.exchange = derive(origin, { ask: (...asked) => this.#ask(client, origin, asked) });
    this.#byExchange.set(call.exchange, call);
    client.calls.add(call);
    // Lists and the like of a client without a session carry no question.
    if (canAsk(origin)) client.askable.add(call);
    return call;
  }

  question(signal: AbortSignal, method = '', params: JsonObject = {}, last?: Exchange): Exchange | Promise<Exchange> {
    const asked = last && this.#byExchange.get(last)?.client;
    if (asked) return throughNewest(asked);
    const task = relatedTask(params);
    if (task !== undefined) return this.#ofTask(task, signal, method, params);
    this.#unnamed.add(signal);
    if (this.#clients.size > 1) return this.#hold(signal);
    const [only] = this.#clients.values();
    return (only && this.#askThrough(only)) ?? Promise.reject(refusal('no running call can have asked a question'));
  }

  /** The newest call of the client whose task asks. */
  async #ofTask(task: string, signal: AbortSignal, method: string, params: JsonObject): Promise<Exchange> {
    const key = await this.#tasks.find(task, HOLD, signal);
    checkRelatedTask(method, params, () => key !== undefined);
    return throughNewest(this.#clients.get(key!));
  }

  cancelled(exchange: Exchange): (() => void) | undefined {
    const call = this.#byExchange.get(exchange);
    if (!call?.exchange) return undefined;
    call.exchange = undefined;
    call.client.askable.delete(call);
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    call.turn ??= this.#turns.join(call.client.key);
    return () => this.#end(call);
  }

  message(): Exchange | undefined {
    const [only] = this.#clients.values();
    return this.#clients.size === 1 ? (only!.askable.last ?? only!.calls.last)?.exchange : undefined;
  }

  async #ask(client: Client, origin: Exchange, asked: Parameters<Exchange['ask']>): Promise<JsonObject> {
    const [method, params, options] = asked;
    if (!client.askable.last) throw new NotAsked(method, origin.method);
    checkRelatedTask(method, params, (id) => (this.#tasks.get(id) ?? client.key) === client.key);
    if (client.open >= MAX_OF_ONE) {
      const why = `${MAX_OF_ONE} questions to its client are open; wait until some are answered`;
      throw new RpcError(ErrorCode.InternalError, quoting`${method} was not asked: ${why}`);
    }
    client.open += 1;
    const [late, since] = [abortController(), performance.now()];
    const endIfLate = (): void => {
      if (performance.now() - since < ANSWER || this.waiting + this.#held.size === 0) return;
      late.abort(refusal('this question had no answer for a minute'));
    };
    const isUnnamed = options?.signal && this.#unnamed.has(options.signal);
    const timer = isUnnamed ? setInterval(endIfLate, 1000).unref() : undefined;
    const { signal, release } = joined(options?.signal, client.over.signal, late.signal);
    try {
      return await origin.ask(method, params, { ...options, signal });
    } finally {
      clearInterval(timer);
      release();
      client.open -= 1;
    }
  }

  /** Called when the server can no longer ask for the call. */
  #end(call: Call): void {
    const { client, exchange } = call;
    if (!client.calls.delete(call)) return;
    client.askable.delete(call);
    call.exchange = undefined;
    clearTimeout(call.timer);
    if (client.calls.size === 0) {
      this.#clients.delete(client.key);
      client.over.abort(allEnded());
    }
    for (const question of this.#held) this.#exclude(call, question, !exchange);
    if (call.turn) this.#turns.leave(call.turn);
  }

  /** The exchange through which a client is asked. Undefined if it has no call that can carry a question. */
  #askThrough(client: Client, after = this.#begun, turn?: Turn): Exchange | undefined {
    client.askedAfter = Math.max(client.askedAfter, after);
    // Otherwise it is unknown which of them asks.
    if (client.calls.size === 1) this.#tools.add(client.calls.last!.name, 'asks');
    const newest = client.askable.last;
    if (newest) newest.turn ??= this.#turns.join(turn?.key ?? client.key, turn);
    return newest?.exchange;
  }

  async #hold(signal: AbortSignal): Promise<Exchange> {
    if (this.#held.size >= MAX_HELD || this.#clients.size > MAX_CLIENTS) throw refusal(UNKNOWN_ASKER);
    const candidates = new Map(Array.from(this.#clients.values(), (client) => [client, client.calls.size]));
    const turn = this.#turns.join(candidates);
    const question = { after: this.#begun, candidates, turn, decision: new Deferred<Exchange>() };
    this.#held.add(question);
    const timeoutError = (): RpcError => {
      for (const client of candidates.keys()) {
        client.askedAfter = this.#begun;
        for (const { name } of client.calls.values())
          if (this.#tools.get(name) !== 'asks') this.#tools.add(name, 'asks');
      }
      return refusal(UNKNOWN_ASKER);
    };
    try {
      return await waitFor(question.decision.promise, { signal, timeout: HOLD, timeoutError });
    } finally {
      this.#held.delete(question);
      this.#turns.leave(turn);
    }
  }

  /** A call has ended, so it can no longer be the one that asked. But if it was cancelled, it may have been. */
  #exclude({ client, number }: Call, question: HeldQuestion, wasCancelled: boolean): void {
    const { after, candidates, turn, decision } = question;
    if (number > after) return;
    const left = candidates.get(client)! - 1;
    if (left > 0) candidates.set(client, left);
    else candidates.delete(client);
    if (candidates.size > 1 && !wasCancelled) return;
    this.#held.delete(question);
    const [only] = candidates.keys();
    const exchange = wasCancelled ? undefined : this.#askThrough(only!, after, turn);
    if (exchange) decision.resolve(exchange);
    else decision.reject(refusal(UNKNOWN_ASKER));
  }
}

function nameOf({ method, params }: Exchange): string | undefined {
  if (!CAN_REQUIRE_INPUT.has(method)) return undefined;
  const name = `${method} ${method === Method.ReadResource ? '' : String(params['name'])}`;
  // A part of a long text would keep the whole text in memory.
  return name.length > MAX_NAME ? method : name;
}

function throughNewest(client: Client | undefined): Exchange {
  const newest = client?.askable.last;
  if (!newest) throw allEnded();
  return newest.exchange!;
}

function refusal(why: string): RpcError {
  const what = 'Call again, or give each client its own connection (--per-session, with a credential for each client)';
  return new RpcError(ErrorCode.InternalError, `Several clients share this connection, and ${why}. ${what}`);
}
