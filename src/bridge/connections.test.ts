import { getEventListeners } from 'node:events';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { scripted } from '../../test/support/service.ts';
import type { Caller, Exchange, Service, Session } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryBus } from '../store/memory-bus.ts';
import { memoryClaims } from '../store/memory-claims.ts';
import { AnswerLost } from '../transport/http/client/errors.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { serve } from '../wire/serve.ts';
import { createBridge, type BridgeOptions } from './bridge.ts';

// It is loaded when it is first needed, which takes a while.
beforeAll(() => import('../wire/negotiate.ts'));

/** A bridge to servers with a handshake. Each connection waits for `start`. */
function bridged(
  service: Service,
  options: Partial<BridgeOptions> = {},
  start: () => Promise<void> = async () => {},
  eras: 'legacy' | 'modern' = 'legacy',
) {
  const ends: Transport[] = [];
  const errors: string[] = [];
  const bridge = createBridge({
    target: () => {
      const [near, far] = memoryTransportPair();
      ends.push(far);
      const started = near.start.bind(near);
      near.start = () => start().then(started);
      void serve(service, far, { eras });
      return near;
    },
    onerror: ({ message }) => void errors.push(message),
    ...options,
  });
  onTestFinished(() => bridge.close());
  return { bridge, ends, errors };
}

/** A request of a caller without a session. */
function from(
  name: string,
  method: string,
  params: JsonObject = {},
  caller: Partial<Caller> = {},
): Exchange & TestExchange {
  const clientInfo = { name, version: '1' };
  return new TestExchange(method, params, { caller: { revision: '2026-07-28', clientInfo, ...caller } });
}

/** A promise that stays pending until a test settles it. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

const able = { capabilities: { elicitation: {} } };

test('sessions are distributed evenly over the pool, whenever they open', async () => {
  const { bridge, ends } = bridged(scripted().service, { connections: 3 });
  const controller = new AbortController();
  const sessions = Array.from({ length: 4 }, (_, n): Session => ({ id: `${n}`, signal: controller.signal }));
  for (const session of sessions) {
    const caller = { session, revision: '2025-11-25' } as const;
    await bridge.service(new TestExchange('server/discover', {}, { caller }));
    await bridge.service(new TestExchange('echo', {}, { caller }));
  }
  expect([ends.length, bridge.upstreams]).toEqual([3, 3]);
});

test('a client without sessions always uses the same connection of the pool', async () => {
  const { bridge, ends } = bridged(scripted().service, { connections: 3 });
  for (let n = 0; n < 5; n += 1) await bridge.service(from('p', 'echo', {}, able));
  expect(ends).toHaveLength(1);
});

test.each(['legacy', 'modern'] as const)(
  'one client has one connection to a %s server, on which its calls run in parallel',
  async (eras) => {
    const { open, opened } = gate();
    let running = 0;
    const service = scripted({
      'tools/call': async () => {
        running += 1;
        await opened;
        return { content: [] };
      },
    }).service;
    const { bridge, ends } = bridged(service, { anonymous: 'same-user' }, undefined, eras);
    const calls = [1, 2, 3, 4].map(() => bridge.service(from('p', 'tools/call', { name: 'x' }, able)));
    await expect.poll(() => running).toBe(4);
    open();
    await Promise.all(calls);
    expect(ends).toHaveLength(1);
    // Another program, other capabilities and another principal each make another client.
    await bridge.service(from('q', 'echo', {}, able));
    await bridge.service(from('p', 'echo'));
    await bridge.service(from('p', 'echo', {}, { ...able, principal: 'ann' }));
    expect(ends).toHaveLength(4);
  },
);

test('on a shared connection, clients take turns to call a tool that has asked', async () => {
  const { open, opened } = gate();
  let running = 0;
  const { service } = scripted({
    'tools/call': async (exchange) => {
      running += 1;
      await exchange.ask('elicitation/create', { message: 'm' });
      await opened;
      return { content: [] };
    },
  });
  const { bridge } = bridged(service, { connections: 'shared' });
  const call = (principal: string) => {
    const exchange = from('p', 'tools/call', { name: 'x' }, { ...able, principal });
    exchange.ask = async () => ({ action: 'decline' });
    return bridge.service(exchange);
  };
  const first = call('ann');
  await expect.poll(() => running).toBe(1);
  const others = [call('ann'), call('bob'), call('bob')];
  await expect.poll(() => [running, bridge.waiting]).toEqual([2, 2]);
  open();
  await Promise.all([first, ...others]);
  expect(bridge.waiting).toBe(0);
});

test('on a shared connection, a question of a call whose answer was lost reaches no other client', async () => {
  const [running, failed, asked] = [gate(), gate(), gate()];
  const refused: unknown[] = [];
  const { service } = scripted({
    'tools/call': async (exchange) => {
      if (exchange.params['name'] === 'slow') {
        if (exchange.params['quick']) return { content: [] };
        running.open();
        await asked.opened;
      } else if (exchange.params['name'] === 'lost') {
        await failed.opened;
        const question = exchange
          .ask('elicitation/create', { message: 'm' })
          .catch((error) => refused.push(error.message));
        asked.open();
        await question;
      }
      return { content: [] };
    },
  });
  const target = () => {
    const [near, far] = memoryTransportPair();
    void serve(service, far, { eras: 'legacy' });
    const send = near.send.bind(near);
    near.send = async (message) => {
      await send(message);
      if ('params' in message && message.params?.['name'] === 'lost') throw new AnswerLost('The answer was lost');
    };
    return near;
  };
  const { bridge } = bridged(service, { connections: 'shared', target });
  const answers: string[] = [];
  const call = (principal: string, name: string, more: JsonObject = {}) => {
    const exchange = from('p', 'tools/call', { name, ...more }, { ...able, principal });
    exchange.ask = () => Promise.resolve({ action: (answers.push(principal), 'accept') });
    return bridge.service(exchange);
  };
  // Now it is known not to ask.
  await call('ben', 'slow', { quick: true });
  await expect(call('ann', 'lost')).rejects.toThrow('The answer was lost');
  const slow = call('ben', 'slow');
  await running.opened;
  failed.open();
  await slow;
  expect(answers).toEqual([]);
  await expect.poll(() => refused).toEqual([expect.stringContaining('it is unknown which of their calls asked')]);
});

test('the only client of a bridge has one connection, with and without sessions', async () => {
  const { bridge, ends } = bridged(scripted().service, { anonymous: 'one-client' });
  await bridge.service(from('p', 'server/discover', {}, able));
  const session: Session = { id: 's', signal: new AbortController().signal };
  await bridge.service(from('p', 'echo', {}, { ...able, session, revision: '2025-11-25' }));
  expect(ends).toHaveLength(1);
});

test('a server of 2026-07-28 has a limit for each principal', async () => {
  const asking: Service = async ({ method }) =>
    method === 'server/discover'
      ? { supportedVersions: ['2026-07-28'], capabilities: {} }
      : { resultType: 'complete', content: [] };
  const ask: Service = (exchange) =>
    exchange.method === 'tools/call' ? exchange.ask('elicitation/create', { message: 'm' }) : asking(exchange);
  const bridge = createBridge({
    target: () => {
      const [near, far] = memoryTransportPair();
      void serve(ask, far, { eras: 'modern', maxSuspended: 2 });
      return near;
    },
  });
  onTestFinished(() => bridge.close());
  const call = (principal: string) => bridge.service(from('p', 'tools/call', { name: 'x' }, { ...able, principal }));
  for (let n = 0; n < 2; n += 1) expect(await call('ann')).toMatchObject({ resultType: 'input_required' });
  await expect(call('ann')).rejects.toThrow('Too many requests');
  expect(await call('bob')).toMatchObject({ resultType: 'input_required' });
});

test('an idle connection to a server of 2026-07-28 is closed, and opened again when it is needed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { bridge } = bridged(scripted().service, { idleTimeout: 10_000 }, undefined, 'modern');
  const names = ['a', 'b', 'c', 'd'];
  await Promise.all(names.map((name) => bridge.service(from(name, 'echo'))));
  for (const name of names) await bridge.service(from(name, 'echo'));
  expect(bridge.upstreams).toBe(4);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bridge.upstreams).toBe(0);
  expect(await bridge.service(from('a', 'echo', { n: 1 }))).toMatchObject({ params: { n: 1 } });
});

test('reopening a lost connection is counted, reopening one that was idle is not', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { bridge, ends } = bridged(scripted().service, { idleTimeout: 10_000 });
  const session: Session = { id: 's', signal: new AbortController().signal };
  const call = from('p', 'echo', {}, { session, revision: '2025-11-25' });
  for (const [lost, restarts] of [
    [false, 0],
    [true, 1],
  ]) {
    await bridge.service(call);
    if (lost) await ends.at(-1)!.close();
    await vi.advanceTimersByTimeAsync(60_000);
    await bridge.service(call);
    expect(bridge.restarts).toBe(restarts);
  }
});

test('a connection stays open as long as its client may return', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let count = 0;
  const { service } = scripted({ count: () => ({ count: (count += 1) }) });
  const { bridge, ends } = bridged(service);
  await bridge.service(from('p', 'count'));
  await vi.advanceTimersByTimeAsync(30 * 24 * 3_600_000);
  expect(await bridge.service(from('p', 'count'))).toMatchObject({ count: 2 });
  expect(ends).toHaveLength(1);
});

test('with too many clients, the connection that was idle the longest is closed and reported', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { bridge, ends, errors } = bridged(scripted().service, { maxConnections: 2 });
  for (const name of ['p', 'q', 'p', 'r']) {
    await bridge.service(from(name, 'echo'));
    await vi.advanceTimersByTimeAsync(1);
  }
  expect([ends.length, bridge.upstreams, errors.length]).toEqual([3, 2, 1]);
  expect(errors[0]).toContain('More than 2 clients');
  await bridge.service(from('p', 'echo'));
  expect(ends).toHaveLength(3);
});

test('a connection that is closing counts for the limit: the next one waits until it is closed', async () => {
  const { open, opened } = gate();
  let started = 0;
  const { service } = scripted();
  const target = (): Transport => {
    const [near, far] = memoryTransportPair();
    const close = near.close.bind(near);
    near.close = () => opened.then(close);
    started += 1;
    void serve(service, far, { eras: 'legacy' });
    return near;
  };
  const bridge = createBridge({ target, maxConnections: 2, eras: 'legacy' });
  onTestFinished(() => bridge.close());
  for (const name of ['p', 'q']) await bridge.service(from(name, 'echo'));
  const third = bridge.service(from('r', 'echo'));
  // More turns of the event loop than the first two connections took.
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  expect(started).toBe(2);
  open();
  await third;
  expect(started).toBe(3);
});

test('if a principal has more than half of the connections, others can close one of these, but it cannot close theirs', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { open, opened } = gate();
  let count = 0;
  const { service } = scripted({ count: () => ({ count: ++count }), work: () => opened.then(() => ({ done: true })) });
  const { bridge } = bridged(service, { maxConnections: 4 });
  const call = async (principal: string, program: string, method: string): Promise<unknown> => {
    await vi.advanceTimersByTimeAsync(1);
    return bridge.service(from(program, method, {}, { principal })).catch(({ message }: Error) => message);
  };
  const held = ['1', '2', '3', '4'].map((program) => call('mallory', program, 'work'));
  await expect.poll(() => bridge.upstreams).toBe(4);
  expect(await call('ada', 'a', 'count')).toMatchObject({ count: 1 });
  expect(await call('bob', 'b', 'count')).toMatchObject({ count: 2 });
  expect(await call('mallory', '5', 'count')).toContain('in use');
  open();
  const results = await Promise.all(held);
  expect(results.filter((result) => (result as JsonObject)['done'])).toHaveLength(2);
  expect(await call('mallory', '6', 'count')).toMatchObject({ count: 3 });
  expect(await call('ada', 'a', 'count')).toMatchObject({ count: 4 });
  expect(bridge.upstreams).toBe(4);
});

test('a client that is refused because of the limit leaves nothing to several processes', async () => {
  const { open, opened } = gate();
  const { service } = scripted({ work: () => opened.then(() => ({})) });
  const [bus, claims] = [memoryBus(), memoryClaims()];
  const stateAt = (node: string) => ({ node, isAlive: async () => true, bus: bus(node), claims: claims(node) });
  const { bridge } = bridged(service, { maxConnections: 1, state: stateAt('a') });
  const held = bridge.service(from('first', 'work'));
  await expect.poll(() => bridge.upstreams, { timeout: 30_000 }).toBe(1);
  for (const name of ['p', 'q', 'r']) await expect(bridge.service(from(name, 'echo'))).rejects.toThrow('in use');
  expect(bridge.pins).toBe(1);
  const other = bridged(scripted({ echo: () => ({ other: true }) }).service, { state: stateAt('b') });
  expect(await other.bridge.service(from('p', 'echo'))).toMatchObject({ other: true });
  open();
  await held;
});

test('a connection that is being opened is not idle', async () => {
  const { open, opened } = gate();
  const { bridge } = bridged(scripted().service, { maxConnections: 1, idleTimeout: 4 }, () => opened);
  const first = bridge.service(from('p', 'echo', { n: 1 }));
  const refused = bridge.service(from('q', 'echo'));
  await expect(refused).rejects.toThrow('in use');
  await new Promise((resolve) => void setTimeout(resolve, 20));
  open();
  expect(await first).toMatchObject({ params: { n: 1 } });
});

test('a session that fails to open leaves no listener on the signal of its caller', async () => {
  const { bridge } = bridged(scripted().service, {}, () => Promise.reject(new Error('no')));
  const { signal } = new AbortController();
  let listeners = 0;
  const counting = new Proxy(signal, {
    get(target, name) {
      if (name === 'addEventListener') listeners += 1;
      if (name === 'removeEventListener') listeners -= 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const session: Session = { id: 's', signal: counting };
  const caller = { session, revision: '2025-11-25' } as const;
  for (let n = 0; n < 3; n += 1)
    await expect(bridge.service(new TestExchange('server/discover', {}, { caller }))).rejects.toThrow('no');
  expect(listeners).toBe(0);
});

test('a session keeps its connection even if the server fails after it answered discover once', async () => {
  const { open, opened } = gate();
  let failing = false;
  const { service } = scripted({
    'server/discover': () => {
      if (failing) throw new RpcError(-32603, 'not now');
      return { supportedVersions: ['2026-07-28'], capabilities: {}, serverInfo: { name: 's', version: '1' } };
    },
    wait: () => opened.then(() => ({ waited: true })),
  });
  const { bridge, ends } = bridged(service, {}, undefined, 'modern');
  const session: Session = { id: 's', signal: new AbortController().signal };
  const caller = { session, revision: '2025-11-25' } as const;
  const send = (method: string): Promise<JsonObject> => bridge.service(new TestExchange(method, {}, { caller }));
  await send('server/discover');
  const waiting = send('wait');
  failing = true;
  await expect(send('server/discover')).rejects.toThrow('not now');
  open();
  expect(await waiting).toMatchObject({ waited: true });
  expect(ends).toHaveLength(1);
});

test('a closed bridge opens no connection', async () => {
  const { bridge, ends } = bridged(scripted().service);
  await bridge.close();
  await expect(bridge.check()).rejects.toThrow('The bridge is closed');
  await expect(bridge.service(from('p', 'echo'))).rejects.toThrow('The bridge is closed');
  expect(ends).toEqual([]);
});

test('a closed bridge leaves no listener at the sessions that used it', async () => {
  const { bridge, ends } = bridged(scripted().service);
  const session: Session = { id: '1', signal: new AbortController().signal };
  await bridge.service(new TestExchange('server/discover', {}, { caller: { session, revision: '2025-11-25' } }));
  expect(getEventListeners(session.signal, 'abort')).toHaveLength(1);
  await bridge.close();
  expect(getEventListeners(session.signal, 'abort')).toEqual([]);
  expect([ends.length, bridge.upstreams]).toEqual([1, 0]);
});

test.each(['legacy', 'modern'] as const)(
  'a client that connects while the server is described does not disturb the description (%s)',
  async (eras) => {
    const { open, opened } = gate();
    let lists = 0;
    const { service } = scripted(
      {
        'tools/list': async () => {
          lists += 1;
          await opened;
          return { tools: [{ name: 'add', inputSchema: { type: 'object' } }] };
        },
      },
      { tools: {} },
    );
    const { bridge, errors } = bridged(service, {}, undefined, eras);
    const described = bridge.describe();
    await expect.poll(() => lists).toBe(1);
    await bridge.service(from('p', 'echo', {}, able));
    open();
    expect(await described).toMatchObject({ name: 'scripted', tools: ['add'] });
    expect([bridge.upstreams, errors]).toEqual([1, []]);
  },
);

test.each([
  ['1,000 characters each', 'x'.repeat(1000), 1100],
  ['few characters', '', 11_000],
])('a description does not keep endless names of tools, here with %s', async (_, name, count) => {
  let pages = 0;
  const { service } = scripted(
    {
      'tools/list': () => {
        pages += 1;
        const tools = Array.from({ length: count / 10 }, (_each, n) => ({ name: `${name}${n}` }));
        return { tools, nextCursor: String(pages) };
      },
    },
    { tools: {} },
  );
  const { bridge } = bridged(service);
  expect((await bridge.describe()).tools).toBeUndefined();
  expect(pages).toBe(10);
});

test.each(['per-session', 'shared'] as const)(
  'a cancelled request does not wait until the server has started (%s)',
  async (connections) => {
    let started = 0;
    const silent = (): Transport => {
      started += 1;
      return memoryTransportPair()[0];
    };
    const bridge = createBridge({ target: silent, connections });
    onTestFinished(() => bridge.close());
    for (let count = 0; count < 3; count += 1) {
      const exchange = new TestExchange('tools/call', { name: 'x' });
      const answer = bridge.service(exchange);
      exchange.abort();
      await expect(answer).rejects.toThrow('aborted');
    }
    // All of them have the same connection, which is still being made.
    expect(started).toBe(1);
  },
);
