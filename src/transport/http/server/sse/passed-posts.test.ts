import { describe, expect, test, vi } from 'vitest';
import { Events, initialize, TestHttp } from '../../../../../test/support/http.ts';
import { aborted, scripted } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import { NotTaken, type Bus } from '../../../../store/bus.ts';
import { memoryBus } from '../../../../store/memory-bus.ts';
import { memoryState } from '../../../../store/state.ts';
import type { HttpHandlerOptions } from '../handler.ts';

/** What a client of HTTP+SSE sees if its messages reach another process than the one that has its stream. */

const request = (id: string | number, method: string) => ({ jsonrpc: '2.0', id, method });

interface Node {
  readonly http: TestHttp;
  readonly ran: Exchange[];
  readonly aborts: string[];
}

/** Processes with one store and one bus. */
function nodes(options: Partial<HttpHandlerOptions> = {}, change: (bus: Bus) => Bus = (bus) => bus) {
  const alive = new Set(['a', 'b']);
  const busOf = memoryBus((node) => alive.has(node));
  const isAlive = (node: string): Promise<boolean> => Promise.resolve(alive.has(node));
  const shared = memoryState();
  const started = [...alive].map((node): Node => {
    const aborts: string[] = [];
    const { service, seen } = scripted({
      where: () => ({ node }),
      wait: async ({ signal }) => {
        await aborted(signal);
        aborts.push(node);
        return {};
      },
      ask: (exchange) => exchange.ask('roots/list', {}).catch(({ message }: Error) => ({ message })),
    });
    const state = { ...shared, node, isAlive, bus: change(busOf(node)) };
    return { http: new TestHttp(service, { state, ...options }), ran: seen, aborts };
  });
  return { alive, started: started as [Node, Node] };
}

/** A session whose stream is at the first process, and whose messages go to the second one. */
async function opened([a, b]: readonly [Node, Node], revision = '2024-11-05') {
  const events = new Events(await a.http.send('GET', '/sse', { accept: 'text/event-stream', 'x-tenant': 'blue' }));
  const address = (await events.next())!.data!;
  const post = (body: unknown, to = b): Promise<Response> =>
    to.http.send('POST', address, { 'content-type': 'application/json' }, JSON.stringify(body));
  expect((await post(initialize(revision, { roots: {} }))).status).toBe(202);
  expect(await events.message()).toMatchObject({ id: 'init', result: { protocolVersion: revision } });
  expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
  return { events, post, address };
}

describe('messages that reach another process', () => {
  test('are answered on the stream of the session', async () => {
    const { started } = nodes();
    const { events, post } = await opened(started);
    expect((await post(request(1, 'where'))).status).toBe(202);
    expect(await events.message()).toMatchObject({ id: 1, result: { node: 'a' } });
    expect((await post(request(2, 'where'), started[0])).status).toBe(202);
    expect(await events.message()).toMatchObject({ id: 2, result: { node: 'a' } });
    expect(started[1].ran).toEqual([]);
  });

  test('cancel calls and answer questions', async () => {
    const { started } = nodes();
    const { events, post } = await opened(started);
    await post(request(1, 'wait'));
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await vi.waitFor(() => expect(started[0].aborts).toEqual(['a']), 30_000);
    await post(request(2, 'ask'));
    const { id } = await events.message();
    await post({ jsonrpc: '2.0', id, result: { roots: [] } });
    expect(await events.message()).toMatchObject({ id: 2, result: { roots: [] } });
  });

  test('have the headers of the stream', async () => {
    const { started } = nodes();
    const { events, post } = await opened(started);
    await post(request(1, 'where'));
    await events.message();
    expect(started[0].ran.at(-1)!.header?.('x-tenant')).toBe('blue');
  });

  test('are refused there as they would be here', async () => {
    const { started } = nodes();
    const { events, post } = await opened(started);
    await post(request(1, 'wait'));
    const repeated = await post(request(1, 'where'));
    expect(repeated.status).toBe(400);
    expect(await repeated.json()).toMatchObject({ error: { message: expect.stringContaining('still in use') } });
    expect((await post([request(2, 'where')])).status).toBe(400);
    await post(request(3, 'ask'));
    const { id } = await events.message();
    expect((await post({ jsonrpc: '2.0', id, result: 'text' })).status).toBe(400);
    expect(await events.message()).toMatchObject({ id: 3, result: { message: expect.stringContaining('Invalid') } });
  });

  test('may be a batch in 2025-03-26', async () => {
    const { started } = nodes();
    const { events, post } = await opened(started, '2025-03-26');
    expect((await post([request(1, 'where'), request(2, 'where')])).status).toBe(202);
    expect(await events.message()).toMatchObject([{ id: 1 }, { id: 2 }]);
    expect((await post([])).status).toBe(400);
  });

  test('of another principal are for no session', async () => {
    const { started } = nodes();
    const [a, b] = started;
    const get = new Request('http://localhost/sse', { headers: { accept: 'text/event-stream' } });
    const events = new Events(await a.http.fetch(get, { principal: 'Ada' }));
    const address = (await events.next())!.data!;
    const post = async (principal: string): Promise<number> => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
      const body = JSON.stringify(initialize('2024-11-05'));
      return (await b.http.fetch(new Request(`http://localhost${address}`, { ...init, body }), { principal })).status;
    };
    expect(await post('Eve')).toBe(404);
    expect(await post('Ada')).toBe(202);
  });

  test('need the scopes of their requests', async () => {
    const { started } = nodes({ scopesFor: ({ method }) => (method === 'where' ? ['admin'] : []) });
    const { address } = await opened(started);
    const body = JSON.stringify(request(1, 'where'));
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const context = { authInfo: { principal: 'Ada', scopes: [] } };
    const refused = await started[1].http.fetch(new Request(`http://localhost${address}`, init), context as never);
    expect(refused.status).toBe(403);
  });
});

describe('if the process of the stream is gone', () => {
  test('the status is 404', async () => {
    const { started, alive } = nodes();
    const { post } = await opened(started);
    alive.delete('a');
    expect((await post(request(1, 'where'))).status).toBe(404);
  });

  test('or its session, the status is 404', async () => {
    const { started } = nodes();
    const { events, post } = await opened(started);
    await events.cancel();
    await vi.waitFor(() => expect(started[0].http.handler.sessions).toBe(0), 30_000);
    expect((await post(request(1, 'where'))).status).toBe(404);
  });

  test.each(['x', 'x.b', `${'x'.repeat(36)}.c`, `${'x'.repeat(36)}.${'c'.repeat(65)}`, '..'])(
    'or never was, the status is 404 (%s)',
    async (id) => {
      const [, b] = nodes().started;
      const json = { 'content-type': 'application/json' };
      const body = JSON.stringify(initialize('2024-11-05'));
      expect((await b.http.send('POST', `/messages?sessionId=${id}`, json, body)).status).toBe(404);
    },
  );
});

test('if it does not answer now, the status is 503, and the message can be sent again', async () => {
  let broken = false;
  const { started } = nodes({}, (bus) => ({
    ...bus,
    call: (...call) => (broken ? Promise.reject(new NotTaken('no')) : bus.call(...call)),
  }));
  const { events, post } = await opened(started);
  broken = true;
  const refused = await post(request(1, 'where'));
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  broken = false;
  expect((await post(request(1, 'where'))).status).toBe(202);
  expect(await events.message()).toMatchObject({ id: 1, result: { node: 'a' } });
});
