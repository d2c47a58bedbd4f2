import { expect, onTestFinished, test, vi } from 'vitest';
import { Events, initialize, TestHttp, TestSession } from '../../../../test/support/http.ts';
import { listening, scripted } from '../../../../test/support/service.ts';
import type { Exchange } from '../../../core/exchange.ts';
import { Method } from '../../../protocol/methods.ts';
import type { Bus } from '../../../store/bus.ts';
import { memoryBus } from '../../../store/memory-bus.ts';
import { memoryState } from '../../../store/state.ts';
import type { HandlerState } from './handler.ts';

/** What handlers do with a state, alone or together. */

/** A handler, its session's own exchange, and what the bus knows of it. */
function handler(state: HandlerState | undefined, ssePath?: false) {
  const listeners: Exchange[] = [];
  const { service } = scripted({
    [Method.Discover]: () => ({
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'server', version: '1' },
    }),
    [Method.Listen]: listening(listeners),
    where: () => ({ node: state?.node }),
  });
  return { http: new TestHttp(service, { state, grace: 0, ssePath }), listeners };
}

/** A bus that notes who listens, and who has stopped. */
function noted(bus: Bus) {
  const stops: (() => void)[] = [];
  const note = (stop: () => void): (() => void) => {
    const noting = vi.fn<() => void>(stop);
    stops.push(noting);
    return noting;
  };
  return {
    stops,
    bus: {
      ...bus,
      on: (...given) => note(bus.on(...given)),
      answer: (...given) => note(bus.answer(...given)),
    } satisfies Bus,
  };
}

/** Two handlers with one state. */
function pair() {
  const state = memoryState();
  const join = memoryBus();
  const isAlive = (): Promise<boolean> => Promise.resolve(true);
  const [a, b] = ['a', 'b'].map((node) => {
    const { bus, stops } = noted(join(node));
    const { http, listeners } = handler({ ...state, node, isAlive, bus });
    return { http, listeners, stops };
  });
  return [a!, b!] as const;
}

const at = ({ http }: { http: TestHttp }, { id }: TestSession): TestSession => new TestSession(http, id, '2025-11-25');

test('a session goes on at another handler, which counts it, and takes over its own stream', async () => {
  const [a, b] = pair();
  const session = await a.http.open();
  await (await at(b, session).call(1, 'where')).text();
  const events = await at(b, session).events();
  await a.listeners[0]!.notify('notifications/tools/list_changed');
  expect((await events.message()).method).toBe('notifications/tools/list_changed');
  expect([a, b].map(({ http }) => [http.handler.revived, http.handler.takenOver])).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test('a handler without a state has continued and taken over nothing', () => {
  const { http } = handler(undefined);
  expect([http.handler.revived, http.handler.takenOver]).toEqual([0, 0]);
});

test('a message of an HTTP+SSE client reaches the handler with its stream', async () => {
  const [a, b] = pair();
  const events = new Events(await a.http.send('GET', '/sse', { accept: 'text/event-stream' }));
  const address = (await events.next())!.data!;
  const message = JSON.stringify(initialize('2024-11-05'));
  expect((await b.http.send('POST', address, { 'content-type': 'application/json' }, message)).status).toBe(202);
  expect(await events.message()).toMatchObject({ id: 'init' });
});

test('a handler takes no more messages of others when it is closed', async () => {
  const [a] = pair();
  expect(a.stops.length).toBeGreaterThan(0);
  await a.http.handler.close();
  for (const stop of a.stops) expect(stop).toHaveBeenCalled();
});

test.each(['sessions', 'isAlive'] as const)(
  'a handler takes messages of others only with all it needs: %s',
  (missing) => {
    const state = { ...memoryState(), isAlive: () => Promise.resolve(true) };
    const { bus, stops } = noted(memoryBus()('a'));
    handler({ ...state, [missing]: undefined, node: 'a', bus }, false);
    expect(stops).toEqual([]);
  },
);

test.each(['sessions', 'isAlive', 'node', undefined] as const)(
  'an answer that nothing waits for is refused only if another process can have asked; missing: %s',
  async (missing) => {
    const state = { ...memoryState(), node: 'a', isAlive: () => Promise.resolve(true) };
    const { http } = handler({ ...state, [missing ?? '']: undefined });
    const session = await http.open();
    const { status } = await session.post({ jsonrpc: '2.0', id: 'unknown', result: {} });
    expect(status).toBe(missing ? 202 : 400);
  },
);

test('without a bus, no handler takes over what another one has', async () => {
  const state = { ...memoryState(), isAlive: () => Promise.resolve(true) };
  const [a, b] = [handler({ ...state, node: 'a' }), handler({ ...state, node: 'b' })];
  const session = await a.http.open();
  await at(b, session).events();
  expect([b.http.handler.revived, b.http.handler.takenOver]).toEqual([1, 0]);
});

test('a handler tells its state each minute which sessions are used, if it keeps sessions there', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const state = memoryState();
  const touch = vi.spyOn(state.sessions, 'touch');
  const handlers = [handler(state), handler({ events: state.events }), handler(undefined)];
  for (const { http } of handlers) await http.open();
  vi.advanceTimersByTime(60_000);
  expect(touch.mock.calls).toEqual([[[expect.any(String)]]]);
  for (const { http } of handlers) expect(http.errors).toEqual([]);
});
