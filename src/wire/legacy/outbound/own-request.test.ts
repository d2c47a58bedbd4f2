import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import { settled } from '../../../../test/support/service.ts';
import { Peer } from '../../../../test/support/wire.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import { connectLegacy } from './outbound.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Connected to a server that the test plays. Requests of callers have no timeout. */
async function connected() {
  const [near, far] = memoryTransportPair();
  const server = new Peer(far);
  await far.start();
  const errors: string[] = [];
  const connecting = connectLegacy(near, {
    clientInfo: { name: 'us', version: '1' },
    timeout: 0,
    maxTimeout: 0,
    handshakeTimeout: 500,
    onerror: ({ message }) => void errors.push(message),
  });
  await settled();
  const capabilities = { resources: { subscribe: true }, logging: {}, tools: {} };
  const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'them', version: '1' } };
  await server.send({ id: server.next().id, result });
  const { service } = await connecting;
  await service(new TestExchange('notifications/first'));
  await settled();
  server.take();
  return { server, service, errors };
}

test('a call does not wait for ever for its log level', async () => {
  const { server, service, errors } = await connected();
  const call = service(new TestExchange('tools/call', {}, { caller: { logLevel: 'info' } }));
  await settled();
  const { id, method } = server.next();
  expect(method).toBe('logging/setLevel');
  await vi.advanceTimersByTimeAsync(500);
  const [cancelled, request] = server.take() as any[];
  expect(cancelled).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } });
  expect(errors).toEqual([expect.stringContaining('500 ms')]);
  await server.send({ id: request.id, result: { content: [] } });
  expect(await call).toEqual({ content: [] });
});

test('a call cancelled while its log level is pending is not made', async () => {
  const { server, service } = await connected();
  const exchange = new TestExchange('tools/call', {}, { caller: { logLevel: 'info' } });
  const call = service(exchange);
  await settled();
  const { id } = server.next();
  exchange.abort();
  await expect(call).rejects.toThrow('aborted');
  expect(server.take()).toMatchObject([{ method: 'notifications/cancelled', params: { requestId: id } }]);
});

test('a subscription cancelled while it is pending is cancelled at the server, and the session gets its messages', async () => {
  const { server, service, errors } = await connected();
  const session = { id: 's', signal: new AbortController().signal };
  const first = new TestExchange('subscriptions/listen', {}, { caller: { session }, onask: () => ({ roots: [] }) });
  service(first).catch(() => {});
  const filter = { notifications: { resourceSubscriptions: ['x://y'] } };
  const second = new TestExchange('subscriptions/listen', filter, { caller: { session } });
  const over = service(second);
  await settled();
  const { id } = server.next();
  second.abort();
  await settled();
  const [cancelled, unsubscribe] = server.take() as any[];
  expect(cancelled).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } });
  expect(unsubscribe).toMatchObject({ method: 'resources/unsubscribe', params: { uri: 'x://y' } });
  // The message comes late, because it crossed with the cancellation.
  await server.send({ id, result: {} }, { id: unsubscribe.id, result: {} });
  expect(await over).toEqual({});
  await server.send({ id: 'q', method: 'roots/list' });
  expect(server.take()).toMatchObject([{ id: 'q', result: { roots: [] } }]);
  expect(errors).toEqual([]);
});
