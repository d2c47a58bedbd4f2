import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../../test/support/exchange.ts';
import { deferred, settled } from '../../../test/support/service.ts';
import { NotAsked, type Exchange, type Session } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { ShareFull, type Bus } from '../../store/bus.ts';
import type { Claims } from '../../store/claims.ts';
import { memoryBus } from '../../store/memory-bus.ts';
import { memoryClaims } from '../../store/memory-claims.ts';
import type { ConnectionKey } from './pin.ts';
import { Pins, type SharedProcesses } from './pins.ts';

/**
 * Processes of a bridge whose server is a function. Each connection counts its calls.
 *
 * @param pass makes a call of a process to another one, or does something else instead.
 */
function world(pass = (_kind: string, call: () => Promise<JsonObject>): Promise<JsonObject> => call()) {
  const gone = new Set<string>();
  const [bus, claims] = [memoryBus((node) => !gone.has(node)), memoryClaims((node) => !gone.has(node))];
  const claimed: string[] = [];
  const shared = new Map<string, readonly [Bus, Claims]>();
  const serve = (
    work: (exchange: Exchange, node: string, connection: ConnectionKey) => JsonObject | Promise<JsonObject>,
    name: string,
    server = 'server',
    target = 'node server.js',
  ) => {
    const ended: unknown[] = [];
    let broken = false;
    const [ownBus, own] = shared.get(name) ?? [bus(name), claims(name)];
    shared.set(name, [ownBus, own]);
    const processes: SharedProcesses = {
      node: name,
      isAlive: async (node) => !gone.has(node),
      bus: {
        ...ownBus,
        call: (to, kind, ...rest) => pass(kind, () => ownBus.call(to, kind, ...rest)),
      },
      claims: {
        ...own,
        claim: (key) => {
          claimed.push(key);
          return broken ? Promise.reject(new Error('the store is out')) : own.claim(key);
        },
        holds: (key) => !broken && own.holds(key),
      },
    };
    const pins = new Pins({
      processes,
      name: server,
      server: target,
      serve: async (exchange, connection) => {
        if (typeof connection === 'object') connection.addEventListener('abort', () => ended.push(connection));
        return work(exchange, name, connection);
      },
      end: (client) => ended.push(client),
      isStateless: () => false,
      onerror: () => {},
    });
    onTestFinished(() => pins.close());
    return {
      pins,
      ended,
      gone: () => void gone.add(name),
      breakStore: (): void => void (broken = true),
      mendStore: (): void => void (broken = false),
      call: (exchange: Exchange) => pins.answer(exchange, new AbortController().signal),
    };
  };
  return { serve, gone, claimed };
}

/** A session at one process. Its other parts have the same name. */
class TestSession implements Session {
  readonly id = 'local';
  readonly #abort = new AbortController();
  readonly sharedId: string;
  readonly revived: boolean;
  endedEverywhere = false;

  /** @param revived whether another process has opened it. */
  constructor(sharedId = 'shared', revived = false) {
    this.sharedId = sharedId;
    this.revived = revived;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** @param everywhere whether it ends at all processes. */
  end(everywhere = false): void {
    this.endedEverywhere = everywhere;
    this.#abort.abort(new Error('over'));
  }
}

function request(method: string, params: JsonObject, session: Session, options: TestExchangeOptions = {}) {
  return new TestExchange(method, params, { ...options, caller: { session, capabilities: { elicitation: {} } } });
}

/** Process a has the connection of a client, and serves a call that the client has sent to process b, until `go` resolves. */
async function busy() {
  const { serve } = world();
  const [begun, go] = [deferred(), deferred()];
  const work = async (each: Exchange, node: string): Promise<JsonObject> => {
    if (each.params['wait'] === true) {
      begun.resolve();
      await go.promise;
    }
    return { node };
  };
  const [a, b] = [serve(work, 'a'), serve(work, 'b')];
  await a.call(request('tools/call', {}, new TestSession()));
  const running = b.call(request('tools/call', { wait: true }, new TestSession()));
  await begun.promise;
  return { a, b, running, go };
}

afterEach(() => settled());

describe('a request that another process serves', () => {
  test('has its method, parameters and caller, and its result comes back', async () => {
    const { serve } = world();
    const seen: Exchange[] = [];
    const work = (each: Exchange, node: string): JsonObject => {
      seen.push(each);
      return { node, params: each.params };
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    expect(await a.call(request('tools/call', {}, new TestSession()))).toMatchObject({ node: 'a' });
    const caller = {
      principal: 'ada',
      clientInfo: { name: 'client', version: '1' },
      capabilities: { roots: {} },
      logLevel: 'error' as const,
      revision: '2025-06-18' as const,
      session: new TestSession(),
    };
    const asked = new TestExchange('tools/call', { name: 'ü', deep: [{ x: null }] }, { caller });
    expect(await b.call(asked)).toEqual({ node: 'a', params: asked.params });
    const { session, ...rest } = seen[1]!.caller;
    expect({ ...rest, session: session?.sharedId }).toEqual({ ...caller, session: 'shared', auth: undefined });
    expect(session?.signal.aborted).toBe(false);
  });

  test('sends its notifications in order, before its result', async () => {
    const { serve } = world();
    const work = (each: Exchange): JsonObject => {
      for (let n = 0; n < 500; n += 1) void each.notify('notifications/progress', { n });
      return {};
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const asked = request('tools/call', {}, new TestSession());
    await b.call(asked);
    expect(asked.notified.map(({ params }) => params?.['n'])).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });

  test('does not keep the event loop busy with many others that waited for the same claim', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { serve } = world();
    const [a, b] = [serve(() => ({}), 'a'), serve(() => ({}), 'b')];
    const session = new TestSession();
    await a.call(request('tools/call', {}, session));
    let written = 0;
    const toJSON = (): JsonObject => {
      written += 1;
      vi.advanceTimersByTime(1);
      return {};
    };
    const calls = Array.from({ length: 500 }, () => b.call(request('tools/call', { slow: { toJSON } }, session)));
    await settled();
    expect(written).toBeLessThan(100);
    await Promise.all(calls);
    expect(written).toBeGreaterThanOrEqual(500);
  });

  test('is refused at once if its client has too many there', async () => {
    let full = false;
    const { serve, claimed } = world((_, call) => (full ? Promise.reject(new ShareFull('too many')) : call()));
    const [a, b] = [serve(() => ({}), 'a'), serve(() => ({}), 'b')];
    const session = new TestSession();
    await a.call(request('tools/call', {}, session));
    await b.call(request('tools/call', {}, session));
    full = true;
    claimed.length = 0;
    const refused = await b.call(request('tools/call', {}, session)).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: -32000, data: { notExecuted: true } });
    expect(claimed).toEqual([]);
  });

  test('goes on if a notification cannot be written as JSON', async () => {
    const { serve } = world();
    const work = async (each: Exchange): Promise<JsonObject> => {
      const failed = each.notify('notifications/progress', { n: 1n }).then(
        () => 'sent',
        () => 'failed',
      );
      void each.notify('notifications/progress', { n: 2 });
      return { first: await failed };
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const asked = request('tools/call', {}, new TestSession());
    expect(await b.call(asked)).toEqual({ first: 'failed' });
    expect(asked.notified.map(({ params }) => params)).toEqual([{ n: 2 }]);
  });

  test('waits for a client that takes notifications slowly', async () => {
    const { serve } = world();
    let sent = 0;
    const work = async (each: Exchange): Promise<JsonObject> => {
      for (; sent < 3; sent += 1) await each.notify('notifications/message', { data: sent });
      return {};
    };
    const [a, b] = [serve(() => ({}), 'a'), serve(work, 'b')];
    await b.call(request('tools/call', {}, new TestSession()));
    sent = 0;
    const taken = deferred();
    const slow = request('tools/call', {}, new TestSession(), { onnotify: () => taken.promise });
    const call = a.call(slow);
    await expect.poll(() => slow.notified.length).toBe(1);
    await settled();
    expect(sent).toBe(0);
    taken.resolve();
    expect(await call).toEqual({});
    expect(slow.notified).toHaveLength(3);
  });

  test('asks its client, and gets the answer or the error', async () => {
    const { serve } = world();
    const work = async (each: Exchange): Promise<JsonObject> => {
      if (each.params['ask'] !== true) return {};
      return { answer: await each.ask('elicitation/create', { message: 'Who?' }, { key: 'k' }) };
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const ask = (onask: (method: string, params: JsonObject) => JsonObject | Promise<JsonObject>) =>
      b.call(request('tools/call', { ask: true }, new TestSession(), { onask }));
    expect(await ask((_, params) => ({ action: 'accept', ...params }))).toEqual({
      answer: { action: 'accept', message: 'Who?' },
    });
    const refused = new RpcError(-32042, 'no', { data: { why: 1 }, origin: 'peer' });
    await expect(ask(() => Promise.reject(refused))).rejects.toMatchObject({ code: -32042, data: { why: 1 } });
    await expect(ask(() => Promise.reject(new NotAsked('elicitation/create', 'x')))).rejects.toThrow('was not asked');
  });

  test.each([
    new RpcError(-32002, 'not there', { data: { uri: 'x' }, origin: 'peer' }),
    new RpcError(-32602, 'bad'),
    new RpcError(-32000, 'lost', { data: { notExecuted: true } }),
  ])('fails with the same error: %s', async (error) => {
    const { serve } = world();
    const work = (each: Exchange): Promise<JsonObject> =>
      each.params['fail'] === true ? Promise.reject(error) : Promise.resolve({});
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const { code, message, data, origin } = error;
    const failed = b.call(request('tools/call', { fail: true }, new TestSession()));
    await expect(failed).rejects.toMatchObject({ code, message, data, origin });
  });

  test('is cancelled there when its client cancels', async () => {
    const { serve } = world();
    const cancelled = deferred();
    const begun = deferred();
    const work = (each: Exchange): Promise<JsonObject> | JsonObject => {
      if (each.params['wait'] !== true) return {};
      begun.resolve();
      return new Promise(() => {
        each.signal.addEventListener('abort', () => cancelled.resolve());
      });
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const asked = request('tools/call', { wait: true }, new TestSession());
    const call = b.call(asked);
    await begun.promise;
    asked.abort();
    await expect(call).rejects.toThrow('aborted');
    await cancelled.promise;
  });

  test('ends once with an error if that process ends, and the next one is served by a living one', async () => {
    const { serve } = world();
    const begun = deferred();
    const work = (each: Exchange, node: string): Promise<JsonObject> | JsonObject => {
      if (each.params['wait'] !== true) return { node };
      begun.resolve();
      return new Promise(() => {});
    };
    const [a, b, c] = [serve(work, 'a'), serve(work, 'b'), serve(work, 'c')];
    await a.call(request('tools/call', {}, new TestSession()));
    const call = b.call(request('tools/call', { wait: true }, new TestSession()));
    await begun.promise;
    a.gone();
    await expect(call).rejects.toMatchObject({ code: -32000, message: expect.stringContaining('done in part') });
    const nodes = [];
    for (const each of [c, b, c]) nodes.push((await each.call(request('tools/call', {}, new TestSession())))['node']);
    expect(nodes).toEqual(['c', 'c', 'c']);
  });

  test('asks a living process what the server is if the one that was asked ends', async () => {
    const { serve } = world();
    const begun = deferred();
    const work = (each: Exchange, node: string): Promise<JsonObject> | JsonObject => {
      if (each.method !== 'server/discover' || node !== 'a') return { node };
      begun.resolve();
      return new Promise(() => {});
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const discovery = b.call(request('server/discover', {}, new TestSession()));
    await begun.promise;
    a.gone();
    expect(await discovery).toEqual({ node: 'b' });
  });

  test('certainly did not run if it is not known where it could, and goes on where the connection is', async () => {
    const { serve } = world();
    let runs = 0;
    const work = (): JsonObject => ({ runs: (runs += 1) });
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    for (const each of [a, b]) each.breakStore();
    const notExecuted = { code: -32000, data: { notExecuted: true } };
    await expect(b.call(request('tools/call', {}, new TestSession()))).rejects.toMatchObject(notExecuted);
    await expect(b.call(request('tools/call', {}, new TestSession('x')))).rejects.toMatchObject(notExecuted);
    expect(await a.call(request('tools/call', {}, new TestSession()))).toEqual({ runs: 2 });
    const revived = new TestSession('shared', true);
    await expect(b.call(request('server/discover', {}, revived))).rejects.toMatchObject(notExecuted);
    expect(await b.call(request('server/discover', {}, new TestSession('new')))).toEqual({ runs: 3 });
  });
});

test('a session that begins while the store is out stays where it began when the store is back', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { serve } = world();
  const count = () => {
    let runs = 0;
    return (_: Exchange, node: string): JsonObject => ({ node, runs: (runs += 1) });
  };
  const [a, b] = [serve(count(), 'a'), serve(count(), 'b')];
  for (const each of [a, b]) each.breakStore();
  expect(await a.call(request('server/discover', {}, new TestSession()))).toEqual({ node: 'a', runs: 1 });
  await vi.advanceTimersByTimeAsync(1000);
  for (const each of [a, b]) each.mendStore();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await b.call(request('tools/call', {}, new TestSession()))).toEqual({ node: 'a', runs: 2 });
});

describe('a connection', () => {
  test('ends when the session has ended at all processes, and not before', async () => {
    const { serve } = world();
    const [a, b] = [serve(() => ({}), 'a'), serve(() => ({}), 'b')];
    const [atA, atB] = [new TestSession(), new TestSession()];
    await a.call(request('tools/call', {}, atA));
    await b.call(request('tools/call', {}, atB));
    expect([a.pins.size, b.pins.size]).toEqual([1, 0]);
    atA.end();
    await settled();
    expect(a.pins.size).toBe(1);
    atB.end();
    await expect.poll(() => a.pins.size).toBe(0);
    expect(a.ended.length).toBeGreaterThan(0);
    const next = new TestSession();
    await b.call(request('tools/call', {}, next));
    await expect.poll(() => b.pins.size).toBe(1);
  });

  test.each(['here', 'at the other process'])(
    'ends if its client has ended the session %s, also if a process that had it was killed',
    async (where) => {
      const { serve } = world();
      const [a, b, c] = [serve(() => ({}), 'a'), serve(() => ({}), 'b'), serve(() => ({}), 'c')];
      const [atA, atB] = [new TestSession(), new TestSession()];
      for (const [process, session] of [
        [a, atA],
        [b, atB],
        [c, new TestSession()],
      ] as const)
        await process.call(request('tools/call', {}, session));
      c.gone();
      const [first, last] = where === 'here' ? [atB, atA] : [atA, atB];
      first.end();
      await settled();
      expect(a.pins.size).toBe(1);
      last.end(true);
      await expect.poll(() => a.pins.size).toBe(0);
      expect(a.ended.length).toBeGreaterThan(0);
    },
  );

  test('is asked for once at a time, however long the other process takes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    let asked = 0;
    const { serve } = world((kind, call) => {
      if (!kind.startsWith('bridge-uses')) return call();
      asked += 1;
      return new Promise(() => {});
    });
    const [a, b] = [serve(() => ({}), 'a'), serve(() => ({}), 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    await b.call(request('tools/call', {}, new TestSession()));
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(asked).toBe(1);
  });

  test('is kept if the session is opened again while the other process says that it is not open', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const [asked, late] = [deferred(), deferred()];
    const { serve } = world(async (kind, call) => {
      // The message that the session has ended is lost.
      if (kind.startsWith('bridge-over')) return {};
      const answer = await call();
      if (!kind.startsWith('bridge-uses')) return answer;
      asked.resolve();
      await late.promise;
      return answer;
    });
    const [a, b] = [serve(() => ({}), 'a'), serve(() => ({}), 'b')];
    const sessions = [new TestSession(), new TestSession()] as const;
    await a.call(request('tools/call', {}, sessions[0]));
    await b.call(request('tools/call', {}, sessions[1]));
    for (const session of sessions) session.end();
    await vi.advanceTimersByTimeAsync(30_000);
    await asked.promise;
    await b.call(request('tools/call', {}, new TestSession()));
    late.resolve();
    await settled();
    expect([a.pins.size, a.ended.length]).toEqual([1, 0]);
  });

  test('belongs to one client', async () => {
    const { serve } = world();
    const [a, b] = [serve((_, node) => ({ node }), 'a'), serve((_, node) => ({ node }), 'b')];
    const of = (name: string, principal: string): TestExchange =>
      new TestExchange('tools/call', {}, { caller: { principal, clientInfo: { name, version: '1' } } });
    expect(await a.call(of('x', 'ada'))).toEqual({ node: 'a' });
    expect(await b.call(of('x', 'bob'))).toEqual({ node: 'b' });
    expect(await b.call(of('y', 'ada'))).toEqual({ node: 'b' });
    expect(await b.call(of('x', 'ada'))).toEqual({ node: 'a' });
    expect(await a.call(request('tools/call', {}, new TestSession('one')))).toEqual({ node: 'a' });
    expect(await b.call(request('tools/call', {}, new TestSession('two')))).toEqual({ node: 'b' });
  });

  test('of a client without a session leads to the server of its process, if another one has the same name', async () => {
    const { serve } = world();
    const work = (_: Exchange, node: string): JsonObject => ({ node });
    const call = (each: { call: (exchange: Exchange) => Promise<JsonObject> }): Promise<JsonObject> =>
      each.call(new TestExchange('tools/call', {}));
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    const other = serve(work, 'c', 'server', 'node server.js --of-another-team');
    expect(await call(a)).toEqual({ node: 'a' });
    expect(await call(b)).toEqual({ node: 'a' });
    expect(await call(other)).toEqual({ node: 'c' });
  });

  test('is found by a short key, whatever its client declares', async () => {
    const { serve, claimed } = world();
    const a = serve(() => ({}), 'a');
    const clientInfo = { name: 'n'.repeat(100_000), version: '1' };
    const capabilities = { experimental: { more: 'm'.repeat(100_000) } };
    await a.call(new TestExchange('tools/call', {}, { caller: { clientInfo, capabilities } }));
    expect(claimed).toHaveLength(1);
    expect(claimed[0]!.length).toBeLessThan(200);
  });

  test('begins when the former one has closed, for requests of other processes too', async () => {
    const { serve } = world();
    const connections: ConnectionKey[] = [];
    const work = (_: Exchange, node: string, connection: ConnectionKey): JsonObject => {
      connections.push(connection);
      return { node };
    };
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    expect(await b.call(request('tools/call', {}, new TestSession()))).toEqual({ node: 'a' });
    const closed = deferred();
    a.pins.ended(connections[0]!, closed.promise);
    const next = b.call(request('tools/call', {}, new TestSession()));
    await settled();
    expect(connections).toHaveLength(2);
    closed.resolve();
    await next;
    expect(connections).toHaveLength(3);
  });

  test('is that of its server, whatever the names of servers', async () => {
    const { serve } = world();
    const names = ['x uses', 'x over', 'x'];
    const at = (node: string) => names.map((name) => serve((_, where) => ({ where, name }), node, name));
    const [a, b] = [at('a'), at('b')];
    const call = (): TestExchange => request('tools/call', {}, new TestSession());
    for (const each of a) await each.call(call());
    const results = await Promise.all(b.map((each) => each.call(call())));
    expect(results).toEqual(names.map((name) => ({ where: 'a', name })));
  });

  test('is given up by a process that ends orderly, when its calls have ended', async () => {
    const { a, b, running, go } = await busy();
    const drained = a.pins.drain(60_000);
    await settled();
    go.resolve();
    expect(await running).toEqual({ node: 'a' });
    await drained;
    expect(await b.call(request('tools/call', {}, new TestSession()))).toEqual({ node: 'b' });
  });
});

describe('while a process ends orderly, a client that always has calls', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('keeps its connection in the first half of the time', async () => {
    const { a, b, running, go } = await busy();
    const drained = a.pins.drain(60_000);
    vi.advanceTimersByTime(29_999);
    expect(await b.call(request('tools/call', {}, new TestSession()))).toEqual({ node: 'a' });
    go.resolve();
    expect(await running).toEqual({ node: 'a' });
    await drained;
  });

  test('gets the next one in the second half when what runs has ended', async () => {
    const { a, b, running, go } = await busy();
    const drained = a.pins.drain(60_000);
    vi.advanceTimersByTime(30_000);
    const next = b.call(request('tools/call', {}, new TestSession()));
    const cancelled = request('tools/call', {}, new TestSession());
    const outcome = b.call(cancelled).catch(String);
    await settled();
    cancelled.abort();
    expect(await outcome).toContain('aborted');
    // It may wait longer than another process tries to reach this one.
    vi.advanceTimersByTime(29_000);
    go.resolve();
    expect(await running).toEqual({ node: 'a' });
    expect(await next).toEqual({ node: 'b' });
    await drained;
  });

  test('gets the next one when the time is over', async () => {
    const { a, b, go } = await busy();
    const drained = a.pins.drain(2);
    vi.advanceTimersByTime(1);
    expect(await b.call(request('tools/call', {}, new TestSession()))).toEqual({ node: 'b' });
    await drained;
    go.resolve();
  });
});

describe('a subscription', () => {
  const LISTEN = { notifications: { toolsListChanged: true, resourceSubscriptions: ['x://1'] } };

  /** Serves subscriptions until they end. Keeps them, and where they are served. */
  function subscriptions() {
    const begun: string[] = [];
    const listeners: Exchange[] = [];
    const work = async (each: Exchange, node: string): Promise<JsonObject> => {
      if (each.method !== 'subscriptions/listen') return { node };
      begun.push(node);
      listeners.push(each);
      await each.notify('notifications/subscriptions/acknowledged', each.params);
      return new Promise((resolve) => each.signal.addEventListener('abort', () => resolve({})));
    };
    return { work, begun, listeners };
  }

  test('goes on at another process, and says that all may have changed', async () => {
    const { serve } = world();
    const { work, begun } = subscriptions();
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const listening = request('subscriptions/listen', LISTEN, new TestSession());
    const over = b.call(listening);
    await expect.poll(() => listening.notified.length).toBe(1);
    a.gone();
    await expect.poll(() => begun, { timeout: 30_000 }).toEqual(['a', 'b']);
    await expect
      .poll(() => listening.notified.map(({ method }) => method), { timeout: 30_000 })
      .toEqual([
        'notifications/subscriptions/acknowledged',
        'notifications/tools/list_changed',
        'notifications/resources/updated',
      ]);
    listening.abort();
    over.catch(() => {});
  });

  test('of a session at several processes: if one that was told of a change has ended, the others say that all may have changed', async () => {
    const { serve } = world();
    const { work, listeners } = subscriptions();
    const [a, b, c] = [serve(work, 'a'), serve(work, 'b'), serve(work, 'c')];
    await a.call(request('tools/call', {}, new TestSession()));
    const [atB, atC] = [new TestSession(), new TestSession()].map((each) =>
      request('subscriptions/listen', LISTEN, each),
    );
    b.call(atB!).catch(() => {});
    await expect.poll(() => atB!.notified.length).toBe(1);
    c.call(atC!).catch(() => {});
    await expect.poll(() => atC!.notified.length).toBe(1);
    expect(listeners.map(({ caller }) => caller.session?.sharedId)).toEqual(['shared', 'shared']);
    b.gone();
    void listeners[0]!.notify('notifications/message', { level: 'info', data: 'lost' });
    await expect
      .poll(() => atC!.notified.map(({ method }) => method), { timeout: 10_000 })
      .toEqual([
        'notifications/subscriptions/acknowledged',
        'notifications/tools/list_changed',
        'notifications/resources/updated',
      ]);
    for (const each of [atB, atC]) each!.abort();
  });

  test('if a process ends that had many of them and was told of many changes, the others tell of each once', async () => {
    const { serve } = world();
    const { work, listeners } = subscriptions();
    const [a, b, c] = [serve(work, 'a'), serve(work, 'b'), serve(work, 'c')];
    await a.call(request('tools/call', {}, new TestSession()));
    const uris = [1, 2, 3, 4].map((n) => `x://${n}`);
    const listenAt = async ({ call }: typeof a): Promise<TestExchange[]> => {
      const session = new TestSession();
      const all = uris.map((uri) =>
        request('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } }, session),
      );
      for (const each of all) call(each).catch(() => {});
      await expect.poll(() => all.every(({ notified }) => notified.length === 1)).toBe(true);
      for (const each of all) each.notified.length = 0;
      return all;
    };
    const [atB, atC] = [await listenAt(b), await listenAt(c)];
    b.gone();
    // All but the last are told.
    for (const each of listeners.slice(0, 3)) void each.notify('notifications/resources/updated', { uri: 'x://y' });
    const told = (): unknown[] => atC.map(({ notified }) => notified.map(({ params }) => params?.['uri']));
    await expect.poll(() => told().flat().length, { timeout: 10_000 }).toBeGreaterThan(2);
    await settled();
    expect(told()).toEqual([...uris.slice(0, 3).map((uri) => [uri]), []]);
    for (const each of [...atB, ...atC]) each.abort();
  });

  test('begins again if a notification could not be passed on, and says that all may have changed', async () => {
    let fails = false;
    const { serve } = world((kind, call) =>
      fails && kind.endsWith('notify') ? Promise.reject(new Error('the store is out')) : call(),
    );
    const { work, listeners } = subscriptions();
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const listening = request('subscriptions/listen', LISTEN, new TestSession());
    b.call(listening).catch(() => {});
    await expect.poll(() => listening.notified.length).toBe(1);
    fails = true;
    await listeners[0]!.notify('notifications/tools/list_changed');
    fails = false;
    await expect
      .poll(() => listening.notified.map(({ method }) => method))
      .toEqual(expect.arrayContaining(['notifications/tools/list_changed', 'notifications/resources/updated']));
    expect(listeners.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    listening.abort();
  });

  test('goes on when the store is back, if that was out while the connection moved', async () => {
    const { serve, claimed } = world();
    const { work, begun } = subscriptions();
    const [a, b] = [serve(work, 'a'), serve(work, 'b')];
    await a.call(request('tools/call', {}, new TestSession()));
    const listening = request('subscriptions/listen', LISTEN, new TestSession());
    const over = vi.fn<() => void>();
    b.call(listening).then(over, over);
    await expect.poll(() => listening.notified.length).toBe(1);
    b.breakStore();
    a.gone();
    const before = claimed.length;
    await expect.poll(() => claimed.length, { timeout: 30_000 }).toBeGreaterThan(before);
    await settled();
    expect(over).not.toHaveBeenCalled();
    b.mendStore();
    await expect.poll(() => begun, { timeout: 30_000 }).toEqual(['a', 'b']);
    listening.abort();
  });
});
