import { abortController } from '../base/abort-controller.ts';
import { joined } from '../base/abort.ts';
import { Deferred } from '../base/deferred.ts';
import { Newest } from '../base/newest.ts';
import { quoting } from '../base/short-text.ts';
import { waitFor } from '../base/wait.ts';
import { derive } from '../core/derive.ts';
import { needsInput } from '../core/rounds.ts';
import { NotAsked, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { allEnded, type Attribution } from '../wire/legacy/outbound/attribution.ts';
import { canAsk } from '../wire/legacy/outbound/calls-in-flight.ts';
import { TaskClients } from './task-clients.ts';
import { checkRelatedTask, relatedTask } from './task-ids.ts';
import { nameOf, Turns } from './turns.ts';

/** A call gives up its turn this many milliseconds after a question. Meanwhile it may ask more. */
const BURST = 50;
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

const NO_ASKER = 'no running call can have asked a question';

/** The key that all callers of one client share. Undefined for an unknown caller. */
export type ClientOf = (caller: Caller) => object | string | undefined;

/** One request that waits for its turn, is in flight, or has ended. */
class Call {
  /** See `Turns`. */
  readonly name: string | undefined;
  /** The key of its client. */
  key!: object | string;
  client!: Client;
  /** How many calls had begun with it. */
  number = 0;
  /**
   * It runs and may ask, runs and cannot carry a question, runs and never asks, waits for its client's answer, or was cancelled and may
   * still ask. Undefined otherwise.
   */
  state: 'running' | 'uncarrying' | 'quiet' | 'waiting' | 'abandoned' | undefined;
  /** The exchange that the server gets. Undefined for an abandoned call: its parameters may be large, and are no longer counted anywhere. */
  exchange: Exchange | undefined;
  /** Whether it was cancelled while it ran, so that questions that wait may be of this call. */
  mayHaveAsked = false;
  /** Resolves when a waiting call that has an answer has its turn again. */
  returns: Promise<void> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;

  constructor(exchange: Exchange) {
    this.name = nameOf(exchange);
  }
}

/** A question that waits for the client's answer. */
interface OpenQuestion {
  /** The call that waits for the answer. Undefined if several calls of the client could have asked. */
  asker: Call | undefined;
  /** How many calls had begun when it came. 0 if it names a task: no call waits for the answer. */
  readonly after: number;
}

/** The calls of one client in flight, and its open questions. */
class Client {
  readonly running = new Newest<Call>();
  /** Lists and the like of a client without a session. A question that comes meanwhile goes out with another call. */
  readonly uncarrying = new Newest<Call>();
  readonly quiet = new Newest<Call>();
  readonly waiting = new Newest<Call>();
  readonly abandoned = new Newest<Call>();
  readonly questions = new Set<OpenQuestion>();
  /** How many calls had begun when one of its calls last asked, or may have asked. */
  asked = 0;
  /** Fires when the last call has ended. Undefined before the first question. */
  over: AbortController | undefined;

  /** How many calls may ask now. */
  get active(): number {
    return this.running.size + this.uncarrying.size + this.abandoned.size;
  }

  get size(): number {
    return this.active + this.quiet.size + this.waiting.size;
  }

  /** The calls that may ask now. If there are none, all. */
  get candidates(): Call[] {
    const sets = this.active > 0 ? [this.running, this.uncarrying, this.abandoned] : [this.quiet, this.waiting];
    return sets.flatMap((calls) => Array.from(calls.values()));
  }

  /** The newest call through which the client can be asked: if possible, one that may ask now. */
  get newest(): Call | undefined {
    return this.running.last ?? this.quiet.last ?? this.waiting.last;
  }

  /** The only call that may ask now. */
  get only(): Call | undefined {
    return this.active === 1 ? this.running.last : undefined;
  }
}

/**
 * Attributes questions to clients, on a connection that several clients share if the server does not name the call.
 *
 * - A question waits until all calls that could have asked it belong to one client. After 10 seconds it is refused. So is one that
 *   comes while 100 others wait, or that any of more than 1,000 calls could have asked.
 * - Active calls could have asked: those that run, without those of quiet tools. If there are none, any call could have, for the first
 *   time or once more. A cancelled call still can for 2 seconds, or until the server answers it.
 * - Calls of tools that ask take turns, so a question seldom waits. A turn ends with the call, or `BURST` after a question. With the
 *   answer, the call takes its turn again. So no call waits for the user of another one.
 * - If several calls of the client could have asked, none of them counts as waiting for the answer until only one is left. A question
 *   whose call the server names is of this call alone.
 * - A question ends when no call of its client is in flight any more. One client has at most 100 open questions.
 *
 * Some cases cannot be decided: a call asks a second question more than `BURST` after its first, while that is open; a quiet tool
 * asks for the first time; the server asks for a call that it has answered, answers one without waiting for its answer, or asks for
 * one that was cancelled while it waited. Such a question can reach another client, whose call is active.
 */
export class QuestionAttribution implements Attribution {
  readonly shared = true;
  /** The clients that have requests which the server processes, or may still process. */
  readonly #clients = new Map<object | string, Client>();
  /** Those of which a call may ask now. */
  readonly #active = new Set<Client>();
  /** How many calls have begun. */
  #begun = 0;
  readonly #turns = new Turns<Call>();
  /** Questions that calls of several clients could have asked, with these calls. */
  readonly #held = new Map<Deferred<Exchange>, Map<Client, Set<Call>>>();
  readonly #tasks = new TaskClients();
  readonly #clientOf: ClientOf;
  /** The calls in flight by the exchanges that the server gets. */
  readonly #byExchange = new WeakMap<Exchange, Call>();
  /** The signals of questions whose call the server does not name. */
  readonly #unnamed = new WeakSet<AbortSignal>();

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf;
  }

  /** How many calls wait for their turn. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Calls the service for an exchange, when it is the call's turn.
   *
   * @param takesTurns whether the server asks questions by requests of its own.
   */
  async answer(service: Service, origin: Exchange, takesTurns = true): Promise<JsonObject> {
    const call = new Call(origin);
    let ended = false;
    try {
      const turn = takesTurns && this.#turns.begin(call, origin);
      if (turn) await turn;
      call.key = this.#clientOf(origin.caller) ?? {};
      call.client = this.#clients.get(call.key) ?? new Client();
      this.#clients.set(call.key, call.client);
      call.number = this.#begun += 1;
      call.exchange = derive(origin, { ask: (...asked) => this.#ask(call, origin, asked) });
      this.#byExchange.set(call.exchange, call);
      this.#move(call, this.#turns.isQuiet(call) ? 'quiet' : canAsk(origin) ? 'running' : 'uncarrying');
      this.#tasks.add(origin.params['taskId'], call.key);
      const result = await service(call.exchange);
      this.#tasks.add(result['task']?.taskId, call.key);
      // Wrong arguments may have ended it before it asked, and the result may be the question.
      ended = result['isError'] !== true && !needsInput(result);
      return result;
    } finally {
      if (ended && call.client.asked < call.number) this.#turns.learnQuiet(call);
      if (call.state !== 'abandoned') this.#end(call);
    }
  }

  #move(call: Call, state: Call['state']): void {
    const { client } = call;
    if (call.state) client[call.state].delete(call);
    if (state) client[state].add(call);
    call.state = state;
    if (client.active > 0) this.#active.add(client);
    else this.#active.delete(client);
    // If only one call of a client may still ask, it has asked all questions whose asker was unknown.
    if (client.only) this.#takeQuestions(client.only);
  }

  /** The call counts as the asker of its client's questions that have none. */
  #takeQuestions(call: Call): void {
    const taken = Array.from(call.client.questions).filter(({ asker, after }) => !asker && call.number <= after);
    for (const question of taken) question.asker = call;
    if (taken.length > 0) this.#waitSoon(call);
  }

  question(signal: AbortSignal, method = '', params: JsonObject = {}, last?: Exchange): Exchange | Promise<Exchange> {
    this.#unnamed.add(signal);
    const asked = last && this.#byExchange.get(last)?.client;
    if (asked && !asked.newest) throw allEnded();
    if (asked) return asked.newest!.exchange!;
    const task = relatedTask(params);
    if (task !== undefined) return this.#ofTask(task, signal, method, params);
    // If no call is active, any call may have asked, for the first time or once more.
    const clients = [...(this.#active.size > 0 ? this.#active : this.#clients.values())];
    for (const client of clients) client.asked = this.#begun;
    if (clients.length > 1) return this.#hold(signal, clients);
    const exchange = clients[0] && this.#askThrough(clients[0]);
    return exchange ?? Promise.reject(refusal(NO_ASKER));
  }

  /** The newest call of the client whose task asks. */
  async #ofTask(task: string, signal: AbortSignal, method: string, params: JsonObject): Promise<Exchange> {
    const key = await this.#tasks.find(task, HOLD, signal);
    checkRelatedTask(method, params, () => key !== undefined);
    const newest = this.#clients.get(key!)?.newest;
    if (!newest) throw allEnded();
    return newest.exchange!;
  }

  cancelled(exchange: Exchange): (() => void) | undefined {
    const call = this.#byExchange.get(exchange);
    if (call?.state === 'quiet') this.#end(call);
    if (!call?.state) return undefined;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    call.exchange = undefined;
    call.mayHaveAsked = call.state === 'running' || call.state === 'uncarrying';
    if (call.mayHaveAsked) this.#turns.keep(call);
    this.#move(call, 'abandoned');
    // No other call of the client may take the questions for its own when this one has ended.
    this.#takeQuestions(call);
    return () => this.#end(call);
  }

  message(): Exchange | undefined {
    const [only] = this.#clients.values();
    return this.#clients.size === 1 ? (only!.newest ?? only!.uncarrying.last)?.exchange : undefined;
  }

  /** Asks the client. Meanwhile, other calls may run. */
  async #ask(call: Call, origin: Exchange, asked: Parameters<Exchange['ask']>): Promise<JsonObject> {
    const [method, params, options] = asked;
    const { client } = call;
    if (!call.exchange || !client.newest) throw new NotAsked(method, origin.method);
    if (client.questions.size >= MAX_OF_ONE) {
      const why = `${MAX_OF_ONE} questions to its client are open; wait until some are answered`;
      throw new RpcError(ErrorCode.InternalError, quoting`${method} was not asked: ${why}`);
    }
    checkRelatedTask(method, params, (id) => (this.#tasks.get(id) ?? call.key) === call.key);
    const named = !options?.signal || !this.#unnamed.has(options.signal);
    const after = relatedTask(params) === undefined ? this.#begun : 0;
    const question: OpenQuestion = { asker: named ? call : undefined, after };
    client.questions.add(question);
    if (named) this.#waitSoon(call);
    else if (client.only) this.#takeQuestions(client.only);
    // Nobody knows whether the call with the turn waits for the answer, so others do not wait for it any longer.
    else if (after > 0 && this.#turns.holder?.client === client) this.#turns.limit();
    const { signal, release } = joined(options?.signal, (client.over ??= abortController()).signal);
    options?.signal?.addEventListener('abort', () => this.#resume(question.asker));
    try {
      return await origin.ask(method, params, { ...options, signal });
    } finally {
      release();
      client.questions.delete(question);
      const { asker } = question;
      // With the answer, the server continues the call, which may ask again.
      if (asker?.state === 'waiting') await (asker.returns ??= this.#return(asker));
      if (asker) this.#waitSoon(asker);
    }
  }

  /** The server has taken a question back, so it continues the call at once. */
  #resume(call: Call | undefined): void {
    if (call?.state !== 'waiting') return;
    this.#turns.keep(call);
    this.#move(call, 'running');
  }

  async #return(call: Call): Promise<void> {
    const turn = this.#turns.resume(call, call.exchange!);
    if (turn) await turn;
    // The call may have ended meanwhile.
    if (call.state === 'waiting') this.#move(call, 'running');
  }

  #waitSoon(call: Call): void {
    if (call.state !== 'running') return;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => {
      if (!Array.from(call.client.questions).some(({ asker }) => asker === call)) return;
      call.returns = undefined;
      this.#move(call, 'waiting');
      this.#turns.end(call);
    }, BURST);
  }

  /** Called when the server can no longer ask for the call. */
  #end(call: Call): void {
    clearTimeout(call.timer);
    this.#turns.end(call);
    if (!call.state) return;
    this.#move(call, undefined);
    const { client, mayHaveAsked } = call;
    if (client.size === 0) {
      this.#clients.delete(call.key);
      client.over?.abort(allEnded());
    }
    for (const [question, candidates] of this.#held) {
      const calls = candidates.get(client);
      if (!calls?.delete(call)) continue;
      if (calls.size === 0) candidates.delete(client);
      if (candidates.size > 1 && !mayHaveAsked) continue;
      this.#held.delete(question);
      const [only] = candidates.keys();
      // If it was cancelled, it may have asked, and no other client must be asked.
      const exchange = mayHaveAsked ? undefined : this.#askThrough(only!);
      if (exchange) question.resolve(exchange);
      else question.reject(mayHaveAsked ? refusal() : refusal(NO_ASKER));
    }
  }

  /** The exchange through which a client is asked. Any of its calls that may ask has asked, or if there are none, any call. */
  #askThrough(client: Client): Exchange | undefined {
    for (const call of client.active === 0 ? [...client.quiet.values()] : []) {
      this.#turns.forgetQuiet(call);
      this.#move(call, 'running');
    }
    if (client.only) this.#turns.learnAsks(client.only);
    return client.newest?.exchange;
  }

  async #hold(signal: AbortSignal, clients: readonly Client[]): Promise<Exchange> {
    const calls = clients.reduce((sum, client) => sum + (client.active || client.size), 0);
    if (this.#held.size >= MAX_HELD || calls > MAX_CANDIDATES) throw refusal();
    const candidates = new Map(clients.map((client) => [client, new Set(client.candidates)]));
    const question = new Deferred<Exchange>();
    this.#held.set(question, candidates);
    const timeoutError = (): RpcError => {
      const unknown = Array.from(candidates.values(), (each) => [...each]).flat();
      for (const call of unknown) this.#turns.forgetQuiet(call);
      return refusal();
    };
    try {
      return await waitFor(question.promise, { signal, timeout: HOLD, timeoutError });
    } finally {
      this.#held.delete(question);
    }
  }
}

function refusal(why = 'it is unknown which of their calls asked a question'): RpcError {
  const what = 'Call again, or give each client its own connection (--per-session, with a credential for each client)';
  return new RpcError(ErrorCode.InternalError, `Several clients share this connection, and ${why}. ${what}`);
}
