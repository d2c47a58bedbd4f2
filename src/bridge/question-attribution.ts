import { abortController } from '../base/abort-controller.ts';
import { joined } from '../base/abort.ts';
import { Deferred } from '../base/deferred.ts';
import { quoting } from '../base/short-text.ts';
import { waitFor } from '../base/wait.ts';
import { derive } from '../core/derive.ts';
import { needsInput } from '../core/rounds.ts';
import { NotAsked, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { allEnded, type Attribution } from '../wire/legacy/outbound/attribution.ts';
import { canAsk } from '../wire/legacy/outbound/calls-in-flight.ts';
import { Call, Client, Question } from './shared-calls.ts';
import { TaskClients } from './task-clients.ts';
import { checkRelatedTask, relatedTask } from './task-ids.ts';
import { Turns } from './turns.ts';

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

/**
 * Attributes questions to clients, on a connection that several clients share if the server does not name the call.
 *
 * - A question waits until all calls that could have asked it belong to one client. After 10 seconds it is refused. So is one that
 *   comes while 100 others wait, or that any of more than 1,000 calls could have asked.
 * - All calls that ran when it came could have asked, also those of quiet tools. If there were only these, calls that waited for an
 *   answer could have, once more. A cancelled call still can for 2 seconds, or until the server answers it.
 * - Calls of tools that ask take turns, so a question seldom waits for another one. A turn ends with the call, or `BURST` after a
 *   question that it may have asked. With the answer, the call takes its turn again. So no call waits for the user of another one.
 * - A call waits for an answer when it alone can have asked a question, and `BURST` has passed since. Then it cannot have asked what
 *   came later. A question whose call the server names is of this call alone.
 * - A question ends when no call of its client is in flight any more. One client has at most 100 open questions.
 *
 * Some cases cannot be decided: a call asks a second question more than `BURST` after its first, while that is open; the server asks
 * for a call that it has answered, answers one without waiting for its answer, or asks for one that was cancelled while it waited; or it
 * asks for a cancelled call of a quiet tool, and leaves the question open for 2 seconds.
 * Such a question can reach another client, whose call runs.
 */
export class QuestionAttribution implements Attribution {
  readonly shared = true;
  /** The clients that have requests which the server processes, or may still process. */
  readonly #clients = new Map<object | string, Client>();
  /** The calls that may ask now, and those that wait for an answer. */
  readonly #running = new Set<Call>();
  readonly #waiting = new Set<Call>();
  readonly #turns = new Turns<Call>();
  /** How many questions wait until their client is known. */
  #held = 0;
  readonly #tasks = new TaskClients();
  readonly #clientOf: ClientOf;
  /** The calls in flight by the exchanges that the server gets. */
  readonly #byExchange = new WeakMap<Exchange, Call>();
  /** The questions whose call the server does not name, by their signals. */
  readonly #unnamed = new WeakMap<AbortSignal, Question>();

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
      call.exchange = derive(origin, { ask: (...asked) => this.#ask(call, origin, asked) });
      this.#byExchange.set(call.exchange, call);
      this.#move(call, canAsk(origin) ? 'running' : 'uncarrying');
      this.#tasks.add(origin.params['taskId'], call.key);
      const result = await service(call.exchange);
      this.#tasks.add(result['task']?.taskId, call.key);
      // Wrong arguments may have ended it before it asked, and the result may be the question.
      ended = result['isError'] !== true && !needsInput(result);
      return result;
    } finally {
      if (ended && !call.mayHaveAsked) this.#turns.learnQuiet(call);
      if (call.state !== 'abandoned') this.#end(call);
    }
  }

  #move(call: Call, state: Call['state']): void {
    const { client } = call;
    if (call.state) client[call.state].delete(call);
    if (state) client[state].add(call);
    call.state = state;
    this.#running.delete(call);
    this.#waiting.delete(call);
    if (state) (state === 'waiting' ? this.#waiting : this.#running).add(call);
  }

  question(signal: AbortSignal, method = '', params: JsonObject = {}, last?: Exchange): Exchange | Promise<Exchange> {
    const asked = last && this.#byExchange.get(last)?.client;
    if (asked && !asked.newest) throw allEnded();
    if (asked) return asked.newest!.exchange!;
    const task = relatedTask(params);
    // No call waits for the answer to a question of a task.
    const question = this.#open(task === undefined ? this.#candidates() : [], signal);
    this.#unnamed.set(signal, question);
    if (task !== undefined) return this.#ofTask(task, signal, method, params);
    const { holder } = this.#turns;
    if (holder && question.calls.has(holder)) {
      question.presumed = holder;
      // Further questions, which may be of other calls, do not prolong the turn.
      if (holder.asked === 1) this.#waitSoon(holder);
    }
    if (question.clients.size === 1) this.#settle(question);
    if (question.through) return question.through;
    if (question.clients.size > 1) return this.#hold(question, signal);
    // No call can have asked, or more than 1,000 can. Then none of them counts as the asker.
    const [only] = this.#clients.values();
    if (this.#clients.size > 1) return Promise.reject(refusal());
    return only?.newest?.exchange ?? Promise.reject(refusal(NO_ASKER));
  }

  #open(calls: readonly Call[], signal?: AbortSignal): Question {
    const question = new Question(calls);
    signal?.addEventListener('abort', () => this.#withdraw(question));
    return question;
  }

  /** The calls that may ask now. Empty if there are more than 1,000. */
  #candidates(): readonly Call[] {
    if (this.#running.size > MAX_CANDIDATES) return [];
    const running = [...this.#running];
    // If no tool of them ever asked, a call that waits may have asked once more.
    const all = running.every((call) => this.#turns.isQuiet(call)) ? [...running, ...this.#waiting] : running;
    return all.length > MAX_CANDIDATES ? [] : all;
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
    if (!call?.state) return undefined;
    call.cancelled = performance.now();
    if (call.state !== 'waiting') call.yielded = undefined;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => this.#end(call), ABANDONED).unref();
    call.exchange = undefined;
    if (this.#turns.isQuiet(call)) this.#turns.end(call);
    else if (call.state !== 'waiting') this.#turns.keep(call);
    this.#move(call, 'abandoned');
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
    checkRelatedTask(method, params, (id) => (this.#tasks.get(id) ?? call.key) === call.key);
    const unnamed = options?.signal && this.#unnamed.get(options.signal);
    const question = unnamed ?? this.#open([call], options?.signal);
    question.through = call.exchange;
    const { holder } = this.#turns;
    // Too many calls may have asked, or its calls have ended.
    const lost = question.calls.size === 0 && !question.presumed && relatedTask(params) === undefined;
    const asker = unnamed ? (lost && holder?.client === client ? holder : undefined) : call;
    if (asker) this.#waitSoon((question.presumed = asker));
    client.open += 1;
    const { signal, release } = joined(options?.signal, (client.over ??= abortController()).signal);
    try {
      if (client.open > MAX_OF_ONE) {
        const why = `${MAX_OF_ONE} questions to its client are open; wait until some are answered`;
        throw new RpcError(ErrorCode.InternalError, quoting`${method} was not asked: ${why}`);
      }
      const answer = await origin.ask(method, params, { ...options, signal });
      // With the answer, the server continues the call, also if it was cancelled.
      if (question.presumed?.state === 'abandoned') this.#continue(question.presumed);
      return answer;
    } finally {
      release();
      client.open -= 1;
      const { presumed } = question;
      // From now on, no call counts as waiting for its answer.
      question.forgetCalls();
      // The call may ask again, so it needs its turn. The server may also take the question back meanwhile.
      if (presumed?.hasYielded) await (presumed.returns ??= this.#return(presumed)).finally(() => question.end());
      question.end();
      if (presumed) this.#waitSoon(presumed);
    }
  }

  /** The server has taken a question back, so it continues the call at once. */
  #withdraw(question: Question): void {
    const { asker, presumed } = question;
    question.end();
    if (!presumed?.hasYielded) return;
    if (asker) this.#turns.keep(asker);
    this.#continue(presumed);
    // Others of its questions may be open.
    this.#waitSoon(presumed);
  }

  async #return(call: Call): Promise<void> {
    // Also if it need not wait, `returns` is set before it continues.
    try {
      await this.#turns.resume(call, call.exchange!);
    } finally {
      this.#continue(call);
    }
  }

  #continue(call: Call): void {
    call.returns = call.yielded = undefined;
    // The call may have ended meanwhile.
    if (call.state === 'waiting') this.#move(call, 'running');
  }

  /** The call may have asked. Unless it gets the answer before, it gives up its turn after `BURST`. */
  #waitSoon(call: Call): void {
    if (call.state !== 'running') return;
    clearTimeout(call.timer);
    const end = performance.now() + BURST;
    call.timer = setTimeout(() => {
      if (call.asked === 0) return;
      call.yielded = end;
      this.#turns.end(call);
      if (Array.from(call.questions).some((each) => each.asker && each.through && waitsFor(call, each)))
        this.#wait(call);
    }, BURST);
  }

  /** The call waits for an answer. So it has asked none of the questions that came since it gave up its turn. */
  #wait(call: Call): void {
    this.#move(call, 'waiting');
    for (const question of [...call.questions]) {
      const others = Array.from(question.calls).filter((other) => other !== call);
      if (question.since < call.yielded! || others.every((other) => this.#turns.isQuiet(other))) continue;
      question.remove(call);
      this.#settle(question);
    }
  }

  /** Called when the server can no longer ask for the call. */
  #end(call: Call): void {
    clearTimeout(call.timer);
    this.#turns.end(call);
    if (!call.state) return;
    this.#move(call, undefined);
    const { client } = call;
    if (client.size === 0) {
      this.#clients.delete(call.key);
      client.over?.abort(allEnded());
    }
    const notItsOwn: Question[] = [];
    for (const question of [...call.questions]) {
      // Then no other client must be asked. Nor may another call count as the asker.
      if (this.#mayBeOf(call, question)) {
        this.#refuse(question);
        continue;
      }
      question.remove(call);
      if (question.presumed === call) question.presumed = undefined;
      notItsOwn.push(question);
    }
    for (const question of notItsOwn) this.#settle(question);
  }

  /**
   * Whether a call that ends may have asked a question, because it was cancelled. If its tool is quiet, what it asked after that is no
   * longer open: the server has processed the cancellation.
   */
  #mayBeOf(call: Call, { since }: Question): boolean {
    if (call.cancelled === undefined || since >= call.yielded!) return false;
    return since <= call.cancelled || !this.#turns.isQuiet(call);
  }

  /** Asks the client if the question can only be for one. If only one call can have asked, it waits for the answer. */
  #settle(question: Question): void {
    if (question.clients.size > 1) return;
    const { asker } = question;
    if (!question.through) this.#deliver(question);
    if (asker) question.presumed = asker;
    if (asker?.state !== 'running') return;
    this.#turns.learnAsks(asker);
    if (waitsFor(asker, question)) this.#wait(asker);
    else this.#waitSoon(asker);
  }

  #deliver(question: Question): void {
    const [client] = question.clients.keys();
    const calls = [...question.calls];
    const able = calls.filter(({ exchange, state }) => exchange && state !== 'uncarrying');
    const call = able.findLast((each) => !this.#turns.isQuiet(each)) ?? able.at(-1) ?? client?.newest;
    // If a tool is known to ask, nothing is known of those beside it.
    const known = calls.some((each) => this.#turns.asks(each));
    for (const each of calls) {
      each.mayHaveAsked = true;
      if (!known) this.#turns.forgetQuiet(each);
    }
    question.through = call?.exchange;
    if (question.through) question.held?.resolve(question.through);
    else question.held?.reject(refusal(NO_ASKER));
  }

  /** It stays unknown which call has asked. */
  #refuse(question: Question): void {
    for (const call of question.calls) {
      call.mayHaveAsked = true;
      this.#turns.forgetQuiet(call);
    }
    question.forgetCalls();
    question.held?.reject(refusal());
  }

  async #hold(question: Question, signal: AbortSignal): Promise<Exchange> {
    const timeoutError = (): RpcError => {
      for (const call of question.calls) this.#turns.suspect(call);
      this.#refuse(question);
      return refusal();
    };
    question.held = new Deferred<Exchange>();
    this.#held += 1;
    try {
      if (this.#held > MAX_HELD) throw refusal();
      return await waitFor(question.held.promise, { signal, timeout: HOLD, timeoutError });
    } finally {
      this.#held -= 1;
      if (!question.through) question.end();
    }
  }
}

/** Whether a call of which a question is known to be has asked it at least `BURST` ago. */
function waitsFor({ yielded }: Call, { since }: Question): boolean {
  return yielded !== undefined && yielded >= since + BURST;
}

function refusal(why = 'it is unknown which of their calls asked a question'): RpcError {
  const what = 'Call again, or give each client its own connection (--per-session, with a credential for each client)';
  return new RpcError(ErrorCode.InternalError, `Several clients share this connection, and ${why}. ${what}`);
}
