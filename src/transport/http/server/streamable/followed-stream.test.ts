import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import {
  badProxy,
  findRedis,
  startRedis,
  type BadNetwork,
  type RedisServer,
} from '../../../../../test/support/redis-server.ts';
import { deferred, scripted } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import type { JsonObject } from '../../../../jsonrpc/message.ts';
import { NotTaken, type Bus } from '../../../../store/bus.ts';
import { embeddedState } from '../../../../store/embedded/embedded-state.ts';
import { memoryBus } from '../../../../store/memory-bus.ts';
import { openRedis } from '../../../../store/redis/open-redis.ts';
import { redisState } from '../../../../store/redis/redis-state.ts';
import { memoryState, type State } from '../../../../store/state.ts';
import type { HttpHandlerOptions } from '../handler.ts';

/** The stream of a call that runs at one process, and whose client reads it at another one. */

/** A state for each of several processes, and what ends one of them as `kill -9` does. */
interface Processes {
  readonly states: readonly State[];
  kill(index: number): void;
}

type Start = (count: number) => Promise<Processes>;

const command = findRedis();
let redis: RedisServer;

beforeAll(async () => {
  if (command !== undefined) redis = await startRedis(command);
});
afterAll(async () => {
  if (command !== undefined) await redis.stop();
});

/** Processes in this one, that use one state. */
function together(state: State, count: number): Processes {
  const names = Array.from({ length: count }, (_, n) => `n${n}`);
  const alive = new Set(names);
  const busOf = memoryBus((node) => alive.has(node));
  const isAlive = async (node: string): Promise<boolean> => alive.has(node);
  const { sessions, events, tasks } = state;
  const states = names.map((node) => ({ node, isAlive, bus: busOf(node), sessions, events, tasks }));
  return { states, kill: (index) => void alive.delete(names[index]!) };
}

const inMemory: Start = async (count) => together(memoryState(), count);

const inDirectory: Start = async (count) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-followed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const state = await embeddedState(path.join(folder, 'data'));
  onTestFinished(() => state.close());
  return together(state, count);
};

/** Processes that reach Redis in these ways. The last one is that of the others. */
const inRedis = (...networks: readonly (BadNetwork | undefined)[]): Start => inRedisAt(() => redis, ...networks);

/** Like `inRedis`, with a server of its own. */
const inRedisAt =
  (server: () => RedisServer, ...networks: readonly (BadNetwork | undefined)[]): Start =>
  async (count) => {
    const states = await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const network = n < networks.length ? networks[n] : networks.at(-1);
        const proxy = network && (await badProxy(server().port, () => network));
        if (proxy) onTestFinished(() => proxy.stop());
        const url = proxy?.url ?? server().url;
        const [client, reader] = [await openRedis(url, 5000), await openRedis(url, 5000)];
        const state = redisState(client, { bus: { reader, stateKey: 'a state key of these tests' } });
        onTestFinished(async () => {
          await state.close();
          await Promise.all([client.close(), reader.close()]);
        });
        return state;
      }),
    );
    return { states, kill: (index) => void states[index]!.close() };
  };

interface Node {
  readonly http: TestHttp;
  readonly bus: Bus;
  /** The calls that run here. */
  readonly calls: { readonly exchange: Exchange; readonly finish: (result: JsonObject) => void }[];
}

async function nodes(start: Start, count = 2, options: Partial<HttpHandlerOptions> = {}) {
  const { states, kill } = await start(count);
  const started = states.map((state): Node => {
    const calls: Node['calls'] = [];
    const { service } = scripted(
      {
        work: async (exchange) => {
          const { promise, resolve } = deferred<JsonObject>();
          calls.push({ exchange, finish: resolve });
          return promise;
        },
      },
      { logging: {} },
    );
    return { http: new TestHttp(service, { state, grace: 0, ...options }), bus: state.bus!, calls };
  });
  return { states, kill, started: started as [Node, Node, ...Node[]] };
}

const at = ({ http }: Node, { id }: TestSession): TestSession => new TestSession(http, id, '2025-11-25');

const log = ({ calls }: Node, data: unknown): Promise<void> =>
  calls[0]!.exchange.notify('notifications/message', { level: 'error', data });

/** A call that runs at a process. Its client has got its first event, and has left. */
async function begin(node: Node) {
  const session = await node.http.open();
  const events = new Events(await session.call('w', 'work'));
  const { id } = (await events.next())!;
  await events.cancel();
  return { session, first: id! };
}

/** What the messages of events say: the data of log messages, and whole responses. */
function said(messages: readonly any[]): unknown[] {
  return messages.map((message) => (message.method === 'notifications/message' ? message.params.data : message));
}

async function next(events: Events, count: number): Promise<unknown[]> {
  const messages: unknown[] = [];
  while (messages.length < count) messages.push(await events.message());
  return said(messages);
}

async function rest(events: Events): Promise<unknown[]> {
  return said((await events.rest()).flatMap(({ data }) => (data ? [JSON.parse(data)] : [])));
}

/** The next event. Undefined if the stream has ended or is cut. */
const nextUnlessCut = (events: Events) => events.next().catch(() => undefined);

/** What a client gets that resumes until it has the response. The last is 410 if it is told that something is lost. */
async function readOn(node: Node, session: TestSession, first: string, got: any[] = []): Promise<unknown[]> {
  let last = first;
  while (got.at(-1)?.id === undefined) {
    const response = await at(node, session).get(last);
    if (response.status === 410) return [...said(got), 410];
    const events = response.status === 200 ? new Events(response) : undefined;
    if (!events) await response.text();
    for (let event = events && (await nextUnlessCut(events)); event; event = await nextUnlessCut(events!)) {
      if (event.id) last = event.id;
      if (event.data) got.push(JSON.parse(event.data));
    }
  }
  return said(got);
}

const answer = { jsonrpc: '2.0', id: 'w', result: { done: true } };

const STORES: [name: string, start: Start][] = [
  ['memory', inMemory],
  ['a directory', inDirectory],
];
if (command !== undefined) {
  STORES.push(['Redis', inRedis(undefined)]);
  STORES.push(['Redis behind a slow network that splits everything', inRedis({ delay: 1, split: 1000 })]);
}

describe.each(STORES)('with %s', (_name, start) => {
  test('a client gets the events of its call on one connection, in order, and then the connection ends', async () => {
    const { started } = await nodes(start);
    const [a, b] = started;
    const { session, first } = await begin(a);
    await log(a, 'before');
    const events = await at(b, session).events(first);
    expect(await next(events, 1)).toEqual(['before']);
    for (let n = 0; n < 20; n += 1) {
      await log(a, n);
      expect(await next(events, 1)).toEqual([n]);
    }
    a.calls[0]!.finish({ done: true });
    expect(await rest(events)).toEqual([answer]);
    expect([...a.http.errors, ...b.http.errors]).toEqual([]);
  });

  test('many events, some of them large, come in order and once', async () => {
    const { started } = await nodes(start);
    const [a, b] = started;
    const { session, first } = await begin(a);
    const events = await at(b, session).events(first);
    const all = Array.from({ length: 300 }, (_, n) => `${n} ${'x'.repeat(n % 50 === 0 ? 50_000 : 100)}`);
    const sent = Promise.all(all.map((data) => log(a, data)));
    expect(await next(events, all.length)).toEqual(all);
    await sent;
    a.calls[0]!.finish({ done: true });
    expect(await rest(events)).toEqual([answer]);
  });

  test('if the process of the call is gone, its client gets one error, and the connection ends', async () => {
    const { started, kill } = await nodes(start, 3);
    const [a, b, c] = started as [Node, Node, Node];
    const { session, first } = await begin(a);
    const events = await at(b, session).events(first);
    await log(a, 'one');
    expect(await next(events, 1)).toEqual(['one']);
    kill(0);
    const failure = expect.objectContaining({ id: 'w', error: expect.objectContaining({ code: -32_000 }) });
    expect(await rest(events)).toEqual([failure]);
    expect(await rest(await at(c, session).events(first))).toEqual(['one', failure]);
  });

  test('a client that goes on reading at another process gets each event once, and the former connection ends', async () => {
    const { started } = await nodes(start, 3);
    const [a, b, c] = started as [Node, Node, Node];
    const { session, first } = await begin(a);
    let last = first;
    let former: Events | undefined;
    const [got, leftOver]: unknown[][] = [[], []];
    for (const [n, node] of [b, c, b, a, c].entries()) {
      const events = await at(node, session).events(last);
      if (former) leftOver!.push(...(await rest(former)));
      await log(a, n);
      let event = await events.next();
      while (!event!.data) event = await events.next();
      last = event!.id!;
      got!.push(...said([JSON.parse(event!.data)]));
      former = events;
    }
    a.calls[0]!.finish({ done: true });
    expect(await rest(former!)).toEqual([answer]);
    expect([got, leftOver]).toEqual([[0, 1, 2, 3, 4], []]);
  });

  test('goes on at once if the process of the call also has another handler with this state, until and after that is closed', async () => {
    const { states, started } = await nodes(start);
    const [a, b] = started;
    // As for each server of a bridge: it has a path of its own.
    const other = new TestHttp(scripted({}).service, { state: states[0]! });
    const { session, first } = await begin(a);
    const events = await at(b, session).events(first);
    await log(a, 'one');
    expect(await next(events, 1)).toEqual(['one']);
    await events.cancel();
    await other.handler.close();
    const again = await at(b, session).events(first);
    expect(await next(again, 1)).toEqual(['one']);
    await log(a, 'two');
    expect(await next(again, 1)).toEqual(['two']);
    a.calls[0]!.finish({ done: true });
    expect(await rest(again)).toEqual([answer]);
  });

  test('a call that nobody reads elsewhere sends no messages to other processes', async () => {
    const { started } = await nodes(start);
    const [a, b] = started;
    const { session, first } = await begin(a);
    const events = await at(b, session).events(first);
    await log(a, 'read');
    expect(await next(events, 1)).toEqual(['read']);
    await events.cancel();
    const here = await session.events(first);
    expect(await next(here, 1)).toEqual(['read']);
    const sent = vi.spyOn(a.bus, 'send');
    for (let n = 0; n < 10; n += 1) await log(a, n);
    expect(await next(here, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(sent).not.toHaveBeenCalled();
  });
});

test.skipIf(command === undefined)(
  'if the connections of the process where a client reads are cut, the client loses nothing when it resumes',
  async () => {
    let cut = 0;
    const network = {
      get cutAfter() {
        return 3000 + ((cut += 371) % 4000);
      },
    };
    const { started } = await nodes(inRedis(undefined, network));
    const [a, b] = started;
    const { session, first } = await begin(a);
    const got: unknown[] = [];
    const reading = readOn(b, session, first, got);
    const all = Array.from({ length: 100 }, (_, n) => n);
    for (const n of all) {
      // Eight events fit into a reply that is not cut. A longer one would never come, however often the client resumes.
      await expect.poll(() => got.length, { interval: 5 }).toBeGreaterThan(n - 8);
      await log(a, n);
    }
    a.calls[0]!.finish({ done: true });
    expect(await reading).toEqual([...all, answer]);
  },
);

test.skipIf(command === undefined)(
  'if Redis loses its data, a client that follows a call gets what comes later, or is told that something is lost',
  async () => {
    const own = await startRedis(command!);
    onTestFinished(() => own.stop());
    const { started } = await nodes(inRedisAt(() => own));
    const [a, b] = started;
    const { session, first } = await begin(a);
    const before: unknown[] = [];
    const reading = readOn(b, session, first, before);
    const all: unknown[] = [];
    const send = async (data: unknown): Promise<boolean> => {
      const isSent = await log(a, data).then(
        () => true,
        () => false,
      );
      if (isSent) all.push(data);
      return isSent;
    };
    await send('before');
    await expect.poll(() => before.length).toBe(1);
    await own.restart();
    let n = 0;
    await expect.poll(() => send((n += 1))).toBe(true);
    a.calls[0]!.finish({ done: true });
    const expected = [...all, answer];
    const got = await reading;
    // What it has not got before it is told so is lost.
    expect(got).toEqual(got.at(-1) === 410 ? [...expected.slice(0, got.length - 1), 410] : expected);
  },
);

type Send = Bus['send'];

/** Lets a test decide what becomes of the events that a process passes on. */
function spoil(bus: Bus, how: (pass: () => ReturnType<Send>) => ReturnType<Send>) {
  const { send } = bus;
  return vi
    .spyOn(bus, 'send')
    .mockImplementation((...args) => (args[1] === 'events' ? how(() => send(...args)) : send(...args)));
}

/** A call at one process, whose client has read its first event at another one. */
async function following(options: Partial<HttpHandlerOptions> = {}) {
  const { started } = await nodes(inMemory, 2, options);
  const [a, b] = started;
  const { session, first } = await begin(a);
  const events = await at(b, session).events(first);
  await log(a, 'begun');
  expect(await next(events, 1)).toEqual(['begun']);
  return { a, b, session, first, events };
}

test('events that overtake each other are written in order', async () => {
  const { a, events } = await following();
  const held: (() => void)[] = [];
  spoil(a.bus, (pass) => new Promise<void>((resolve) => void held.push(resolve)).then(pass));
  for (let n = 0; n < 6; n += 1) {
    await log(a, n);
    await expect.poll(() => held.length).toBe(n + 1);
  }
  for (const release of held.toReversed()) release();
  expect(await next(events, 6)).toEqual([0, 1, 2, 3, 4, 5]);
});

test.each([
  ['was certainly not passed on', () => Promise.reject(new NotTaken('full'))],
  ['was perhaps not passed on', () => Promise.reject(new Error('unreachable'))],
  [
    'was passed on, but nobody says so',
    async (pass: () => ReturnType<Send>) => {
      await pass();
      throw new Error('not confirmed');
    },
  ],
])('an event that %s reaches the client nevertheless, and once', async (_, how) => {
  const { a, events } = await following();
  let spoilt = 0;
  spoil(a.bus, (pass) => ((spoilt += 1) <= 3 ? how(pass) : pass()));
  await log(a, 'one');
  expect(await next(events, 1)).toEqual(['one']);
  await log(a, 'two');
  a.calls[0]!.finish({ done: true });
  expect(await rest(events)).toEqual(['two', answer]);
});

test('many events make few messages while other messages are on their way', async () => {
  const { a, events } = await following();
  const gate = deferred();
  const sent = spoil(a.bus, (pass) => gate.promise.then(pass));
  const all = Array.from({ length: 1000 }, (_, n) => `${n} ${'x'.repeat(1000)}`);
  for (const data of all) await log(a, data);
  expect(sent.mock.calls.length).toBeLessThan(20);
  gate.resolve();
  expect(await next(events, all.length)).toEqual(all);
  a.calls[0]!.finish({ done: true });
  expect(await rest(events)).toEqual([answer]);
  const lengths = sent.mock.calls.map(([, kind, body]) => (kind === 'events' ? JSON.stringify(body).length : 0));
  expect(Math.max(...lengths)).toBeLessThan(400_000);
});

test('if the process of the call cannot be asked, the client gets what is stored, and is told when to ask again', async () => {
  const { started } = await nodes(inMemory);
  const [a, b] = started;
  const { session, first } = await begin(a);
  await log(a, 'one');
  vi.spyOn(b.bus, 'call').mockRejectedValue(new NotTaken('full'));
  const all = await (await at(b, session).events(first)).rest();
  expect(all.at(-1)).toEqual({ retry: '1000' });
  expect(all.map(({ data }) => data).join('')).toContain('"one"');
});

test('a session that is read at another process is not silent', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { a, b, events } = await following({ idleTimeout: 1000 });
  vi.advanceTimersByTime(5000);
  expect([a.http.handler.sessions, b.http.handler.sessions]).toEqual([1, 1]);
  await log(a, 'later');
  a.calls[0]!.finish({ done: true });
  expect(await rest(events)).toEqual(['later', answer]);
});

test('if the session ends, so does the connection at another process', async () => {
  const { b, session, first, events } = await following();
  expect((await session.delete()).status).toBe(204);
  await events.rest();
  expect((await at(b, session).get(first)).status).toBe(404);
});

test('a process that stops says so to a client that reads at another one', async () => {
  const { a, events } = await following();
  await a.http.handler.close();
  const failure = { id: 'w', error: { code: -32_000, message: expect.stringContaining('may have been done in part') } };
  expect(await rest(events)).toMatchObject([failure]);
});

test('a client that reads slowly gets everything', async () => {
  const { started } = await nodes(inMemory);
  const [a, b] = started;
  const { session, first } = await begin(a);
  const events = await at(b, session).events(first);
  const all = Array.from({ length: 300 }, (_, n) => `${n} ${'x'.repeat(10_000)}`);
  for (const data of all) await log(a, data);
  a.calls[0]!.finish({ done: true });
  expect(await rest(events)).toEqual([...all, answer]);
});
