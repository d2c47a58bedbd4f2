import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Random } from '../../test/faults/cluster/random.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { onAborted } from '../base/abort.ts';
import { NotAsked, type AskOptions, type Exchange, type Session } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject, Message, RequestId } from '../jsonrpc/message.ts';
import type { Transport } from '../transport/transport.ts';
import { connectLegacy } from '../wire/legacy/outbound/outbound.ts';
import type { Upstream } from '../wire/upstream.ts';
import { QuestionAttribution } from './question-attribution.ts';

// Random clients of a random server that share a connection. The server keeps the rules that docs/bridge.md states, and
// each of its questions names its call. The attribution does not see this name.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CLIENTS = 3;
const CALLS_OF_ONE = 10;
/** A server may process a cancellation so much later. It must be less than two seconds after the client's request. */
const CANCELLATION_DELAY = 1500;

/** What has happened, for a person who looks for the cause of a failure. */
let story: string[] = [];
const note = (what: string): void => void story.push(`${Date.now()} ${what}`);

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, milliseconds));

/** What the tool of a call does, from its first step to its result. */
type Tool = (call: ServerCall, random: Random) => Promise<unknown>;

const TOOLS: Readonly<Record<string, Tool>> = {
  silent: (_call, random) => sleep(random.between(0, 300)),
  slow: (_call, random) => sleep(random.between(1500, 6000)),
  once: async (call, random) => {
    await sleep(random.between(0, 60));
    await call.ask();
  },
  immediate: (call) => call.ask(),
  sometimes: async (call, random) => {
    await sleep(random.between(0, 100));
    if (random.next() < 0.3) await call.ask();
  },
  rarely: async (call, random) => {
    await sleep(random.between(0, 4000));
    if (random.next() < 0.1) await call.ask();
    await sleep(random.between(0, 200));
  },
  twice: async (call, random) => {
    const second = sleep(random.between(0, 1000)).then(() => call.ask());
    await Promise.allSettled([call.ask(), second]);
  },
  again: async (call, random) => {
    await call.ask();
    await sleep(random.between(0, 1500));
    await call.ask();
    await call.ask();
  },
  late: async (call, random) => {
    await sleep(random.between(1500, 4000));
    await call.ask();
  },
  impatient: (call, random) => call.ask(random.between(1, 2500)),
  persistent: async (call, random) => {
    await call.ask(random.between(1, 500)).catch(() => sleep(random.of([0, 0, 1, 50])));
    await call.ask();
  },
};

/** One direction of a connection. Messages that arrive at the same time arrive in one piece. */
class Line {
  receive!: (message: Message, related: RequestId | undefined) => void;
  readonly #latency: number;
  readonly #sent: { message: Message; related: RequestId | undefined; due: number }[] = [];

  constructor(latency: number) {
    this.#latency = latency;
  }

  send(message: Message, related?: RequestId): void {
    this.#sent.push({ message, related, due: Date.now() + this.#latency });
    setTimeout(() => {
      while (this.#sent[0] && this.#sent[0].due <= Date.now()) {
        const next = this.#sent.shift()!;
        this.receive(next.message, next.related);
      }
    }, this.#latency);
  }
}

/** A call at the server. */
class ServerCall {
  cancelled = false;
  /** The ids of its open questions. */
  readonly open = new Set<RequestId>();
  readonly #server: Server;
  readonly id: RequestId;
  readonly number: number;
  readonly tool: string;

  constructor(server: Server, id: RequestId, number: number, tool: string) {
    this.#server = server;
    this.id = id;
    this.number = number;
    this.tool = tool;
  }

  /** @param patience the server takes the question back after so many milliseconds. */
  async ask(patience?: number): Promise<void> {
    if (this.cancelled) throw new Error('cancelled');
    const id = this.#server.newId();
    note(`${id} of call ${this.number}`);
    this.open.add(id);
    const timer = patience === undefined ? undefined : setTimeout(() => this.withdraw(id), patience);
    try {
      await this.#server.ask(id, this);
    } finally {
      clearTimeout(timer);
      this.open.delete(id);
    }
  }

  withdraw(id: RequestId): void {
    this.#server.withdraw(id);
  }
}

class Server {
  questions = 0;
  readonly #random: Random;
  readonly #send: Line['send'];
  /** How likely a tool's questions are to come on the streams of their calls, as over Streamable HTTP. */
  readonly #relates: number;
  /** The tools of which they do. */
  readonly #related = new Map<string, boolean>();
  /** Whether it runs one call after another. */
  readonly #serial: boolean;
  /** Whether it takes back the questions of a call that is cancelled. */
  readonly #withdraws: boolean;
  #last: Promise<unknown> = Promise.resolve();
  readonly #byId = new Map<RequestId, ServerCall>();
  readonly #waiting = new Map<RequestId, { resolve: () => void; reject: (error: Error) => void }>();

  constructor(random: Random, send: Line['send']) {
    this.#random = random;
    this.#send = send;
    this.#relates = random.of([0, 0, 0.5, 1]);
    this.#serial = random.next() < 0.2;
    this.#withdraws = random.next() < 0.7;
  }

  newId(): RequestId {
    this.questions += 1;
    return `q${this.questions}`;
  }

  ask(id: RequestId, call: ServerCall): Promise<void> {
    const question: Message = { jsonrpc: '2.0', id, method: 'elicitation/create', params: { call: call.number } };
    const related = this.#related.get(call.tool) ?? this.#random.next() < this.#relates;
    this.#related.set(call.tool, related);
    this.#send(question, related ? call.id : undefined);
    return new Promise((resolve, reject) => void this.#waiting.set(id, { resolve, reject }));
  }

  withdraw(id: RequestId): void {
    const question = this.#waiting.get(id);
    if (!question) return;
    this.#waiting.delete(id);
    note(`${id} is withdrawn`);
    this.#send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    question.reject(new Error('withdrawn'));
  }

  receive(message: Message): void {
    if (!('method' in message)) {
      const question = this.#waiting.get(message.id!);
      this.#waiting.delete(message.id!);
      note(`${message.id} is answered: ${'error' in message ? message.error.message : 'accept'}`);
      if ('error' in message) question?.reject(new Error(message.error.message));
      else question?.resolve();
    } else if (message.method === 'notifications/cancelled') {
      const call = this.#byId.get(message.params!['requestId']);
      if (call)
        setTimeout(() => this.#cancel(call), this.#random.of([0, 0, this.#random.between(0, CANCELLATION_DELAY)]));
    } else if ('id' in message) {
      void this.#answer(message.id, message.method, message.params ?? {});
    }
  }

  #cancel(call: ServerCall): void {
    call.cancelled = true;
    note(`server cancels ${call.number}`);
    for (const id of this.#withdraws ? call.open : []) this.withdraw(id);
  }

  #inTurn(run: () => Promise<unknown>): Promise<unknown> {
    if (!this.#serial) return run();
    const done = this.#last.then(run);
    this.#last = done.catch(() => {});
    return done;
  }

  async #answer(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const respond = (result: JsonObject): void => {
      note(`server answers ${params['arguments']?.number} ${JSON.stringify(result)}`);
      this.#send({ jsonrpc: '2.0', id, result });
    };
    if (method === 'initialize') {
      const serverInfo = { name: 'model', version: '1' };
      return respond({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
    }
    const { number } = params['arguments'] ?? { number: 0 };
    const call = new ServerCall(this, id, number, String(params['name']));
    this.#byId.set(id, call);
    note(`server got ${number}`);
    try {
      if (method === 'tools/list') await sleep(this.#random.between(0, 2000));
      else await this.#inTurn(() => TOOLS[params['name'] as string]!(call, this.#random));
      if (!call.cancelled || this.#random.next() < 0.5) respond({ content: [] });
    } catch {
      // Some servers answer a cancelled call, and some do not.
      if (!call.cancelled || this.#random.next() < 0.5) respond({ content: [], isError: true });
    }
  }
}

class Model {
  readonly attribution = new QuestionAttribution(({ session }) => session);
  readonly server: Server;
  delivered = 0;
  readonly wrong: string[] = [];
  /** The calls without a result. */
  readonly running = new Map<number, { tool: string; session: Session }>();
  /** Milliseconds after which a call times out. */
  readonly #timeout: number;
  readonly #random: Random;
  readonly #toServer: Line;
  readonly #toBridge: Line;
  #upstream!: Upstream;
  readonly #owners = new Map<number, Session>();
  #number = 0;

  constructor(seed: number) {
    this.#random = new Random(seed, 'clients');
    this.#timeout = seed % 4 === 0 ? 2500 : 600_000;
    this.#toServer = new Line(this.#random.between(0, 3));
    this.#toBridge = new Line(this.#random.between(0, 3));
    this.server = new Server(new Random(seed, 'server'), (message, related) => this.#toBridge.send(message, related));
    this.#toServer.receive = (message) => this.server.receive(message);
  }

  async connect(): Promise<void> {
    const transport: Transport = {
      start: async () => {},
      send: async (message) => this.#toServer.send(message),
      close: async () => {},
    };
    this.#toBridge.receive = (message, relatedRequestId) => transport.onmessage!(message, { relatedRequestId });
    const connected = connectLegacy(transport, {
      clientInfo: { name: 'bridge', version: '1' },
      attribution: this.attribution,
      timeout: this.#timeout,
    });
    await vi.advanceTimersByTimeAsync(10);
    this.#upstream = await connected;
  }

  /** Runs all clients until they have made their calls. */
  async run(): Promise<void> {
    const clients = Array.from({ length: CLIENTS }, (_, index) => this.#runClient(`${index}`));
    let over = false;
    void Promise.all(clients).then(() => (over = true));
    while (!over) await vi.advanceTimersByTimeAsync(1000);
  }

  async #runClient(name: string): Promise<void> {
    const random = this.#random;
    const tools = Object.keys(TOOLS).filter(() => random.next() < 0.6);
    const session = (count: number) => Object.assign(new AbortController(), { id: `${name}.${count}` });
    let current = session(0);
    for (let count = 1; count <= CALLS_OF_ONE; count += 1) {
      await sleep(
        random.weighted([
          [3, 0],
          [3, random.between(0, 30)],
          [4, random.between(0, 3000)],
        ]),
      );
      if (random.next() < 0.05) current.abort();
      if (current.signal.aborted) current = session(count);
      if (random.next() < 0.1) void this.call('tools/list', current);
      const done = this.call(random.of(['silent', ...tools]), current);
      if (random.next() < 0.3) await done;
    }
  }

  /** @param patience how long the client takes to answer a question. Default: random. */
  async call(tool: string, session: Session, patience?: number): Promise<JsonObject | undefined> {
    const random = this.#random;
    const number = (this.#number += 1);
    const exchange =
      tool === 'tools/list'
        ? new TestExchange(tool, { arguments: { number } }, { caller: { session } })
        : new TestExchange('tools/call', { name: tool, arguments: { number } }, { caller: { session } });
    this.running.set(number, { tool, session });
    this.#owners.set(number, session);
    note(`${session.id} calls ${tool} ${number}`);
    const cancel = (): void => {
      if (!this.running.has(number) || exchange.signal.aborted) return;
      note(`client cancels ${number}`);
      exchange.abort();
    };
    onAborted(session.signal, cancel);
    if (patience === undefined && random.next() < 0.15) setTimeout(cancel, random.between(0, 3000));
    exchange.ask = (method, params, options) => {
      if (!this.running.has(number) || exchange.signal.aborted) return Promise.reject(new NotAsked(method, tool));
      return this.#ask(exchange, params, options, patience);
    };
    try {
      return await this.attribution.answer(this.#upstream.service, exchange);
    } catch {
      return undefined;
    } finally {
      this.running.delete(number);
      session.signal.removeEventListener('abort', cancel);
    }
  }

  /** The user of a client answers a question, or gives up the whole session. */
  #ask(
    { caller, params, signal: ended }: Exchange,
    { call }: JsonObject,
    options: AskOptions = {},
    patience?: number,
  ): Promise<JsonObject> {
    const random = this.#random;
    const session = caller.session!;
    this.delivered += 1;
    note(`${session.id} is asked for ${call} through ${params['arguments'].number}`);
    if (this.#owners.get(call as number) !== session) this.wrong.push(`question of call ${call} at ${session.id}`);
    const time =
      patience ??
      random.weighted([
        [3, random.between(0, 20)],
        [3, random.between(0, 500)],
        [3, random.between(500, 6000)],
        [1, Infinity],
      ]);
    return new Promise((resolve, reject) => {
      const end = (): void => reject(new RpcError(ErrorCode.InternalError, 'The question has ended'));
      options.signal?.addEventListener('abort', end);
      if (!options.outlivesRequest) onAborted(ended, end);
      if (time < Infinity) setTimeout(() => resolve({ action: 'accept' }), time);
      else setTimeout(() => this.#giveUp(session), 5000);
    });
  }

  #giveUp(session: Session): void {
    const controller = session as unknown as AbortController;
    controller.abort();
  }
}

async function check(seed: number): Promise<{ questions: number; delivered: number }> {
  story = [];
  vi.setSystemTime(0);
  const model = new Model(seed);
  const failed = (): string => `seed ${seed}\n${story.join('\n')}`;
  await model.connect();
  await model.run();
  await vi.advanceTimersByTimeAsync(300_000);
  expect(model.wrong, failed()).toEqual([]);
  expect([...model.running.values()], failed()).toEqual([]);
  expect(model.attribution.waiting, failed()).toBe(0);
  const { delivered } = model;
  const { questions } = model.server;
  // Nothing is left that delays or diverts a question.
  for (let client = 0; client < CLIENTS; client += 1) {
    const done = model.call('once', Object.assign(new AbortController(), { id: `last ${client}` }), 10);
    await vi.advanceTimersByTimeAsync(200);
    expect(await Promise.race([done, Promise.resolve('runs')]), failed()).toEqual({ content: [] });
  }
  expect(model.wrong, failed()).toEqual([]);
  return { questions, delivered };
}

test('random clients get the questions of their own calls only, and all calls end', async () => {
  let [questions, delivered] = [0, 0];
  for (let seed = 1; seed <= 100; seed += 1) {
    const counts = await check(seed);
    questions += counts.questions;
    delivered += counts.delivered;
  }
  expect(delivered / questions).toBeGreaterThan(0.5);
});
