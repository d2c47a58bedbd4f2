import { expect, onTestFinished, test } from 'vitest';
import { settled } from '../../../../test/support/service.ts';
import { Peer } from '../../../../test/support/wire.ts';
import type { JsonObject, Notification, Response } from '../../../jsonrpc/message.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import type { Transport } from '../../../transport/transport.ts';
import { TransportCarrier, type TransportCarrierOptions } from './transport-carrier.ts';
import { Lifetime } from '../../../base/lifetime.ts';

async function carrying(options: TransportCarrierOptions = {}, closeReason?: Error) {
  const [near, far] = memoryTransportPair();
  Object.assign(near, { closeReason });
  const server = new Peer(far);
  await far.start();
  const errors: string[] = [];
  const carrier = new TransportCarrier(near, { onerror: ({ message }) => void errors.push(message), ...options });
  await carrier.start();
  onTestFinished(() => carrier.close());
  return { server, carrier, errors };
}

/** Sends a request. Returns the messages that belong to it. */
function send(carrier: TransportCarrier, method: string, meta: JsonObject = {}) {
  const lifetime = new Lifetime();
  const notifications: Notification[] = [];
  const response: Promise<Response> = carrier.request({
    method,
    params: { _meta: meta },
    lifetime,
    onnotification: (notification) => void notifications.push(notification),
  });
  response.catch(() => {});
  return {
    response,
    notifications,
    cancel: (reason = new Error('This operation was aborted')) => lifetime.abort(reason),
  };
}

const logged = { 'io.modelcontextprotocol/logLevel': 'debug' };
const log = { method: 'notifications/message', params: { level: 'info', data: 'x' } };

test('a log message goes to the newest tool call that requested a level, or else to the newest other request that did', async () => {
  const { server, carrier, errors } = await carrying();
  const silent = send(carrier, 'tools/call');
  await server.send(log);
  expect(errors).toEqual(['notifications/message was ignored: it belongs to no request in flight']);
  const [tool, read] = [send(carrier, 'tools/call', logged), send(carrier, 'resources/read', logged)];
  const listen = send(carrier, 'subscriptions/listen', logged);
  await server.send(log);
  expect([silent, tool, read, listen].map(({ notifications }) => notifications.length)).toEqual([0, 1, 0, 0]);
  tool.cancel();
  await server.send(log);
  expect([silent, tool, read, listen].map(({ notifications }) => notifications.length)).toEqual([0, 1, 1, 0]);
});

test('an unknown notification goes to the request in flight if there is only one', async () => {
  const { server, carrier, errors } = await carrying();
  const listen = send(carrier, 'subscriptions/listen');
  const call = send(carrier, 'tools/call');
  await server.send({ method: 'notifications/vendor' }, { method: 'notifications/tools/list_changed' });
  expect(call.notifications.map(({ method }) => method)).toEqual(['notifications/vendor']);
  const other = send(carrier, 'tools/call');
  await server.send({ method: 'notifications/vendor' });
  expect([listen, call, other].map(({ notifications }) => notifications.length)).toEqual([0, 1, 0]);
  expect(errors).toEqual([
    'notifications/tools/list_changed was ignored: it belongs to no request in flight',
    'notifications/vendor was ignored: it belongs to no request in flight',
  ]);
});

test('late messages for a cancelled request are not reported, but others are', async () => {
  const { server, carrier, errors } = await carrying();
  const call = send(carrier, 'tools/call', { progressToken: 't' });
  const listen = send(carrier, 'subscriptions/listen');
  await settled();
  const [{ id: one }, { id: two }] = [server.next(), server.next()];
  call.cancel(new Error('enough'));
  listen.cancel(new Error('enough'));
  await expect(call.response).rejects.toThrow('enough');
  await settled();
  expect(server.take()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: one, reason: 'enough' } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: two, reason: 'enough' } },
  ]);
  await server.send(
    { method: 'notifications/progress', params: { progressToken: 't', progress: 1 } },
    {
      method: 'notifications/tools/list_changed',
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': two } },
    },
    { id: one, result: {} },
    { id: two, result: {} },
  );
  expect(errors).toEqual([]);
  await server.send(
    { id: 77, result: {} },
    { method: 'notifications/progress', params: { progressToken: 'u', progress: 1 } },
    { id: 5, method: 'roots/list' },
    { id: '\u009b\u202e', error: { code: 1, message: '\u001b[31m' } },
  );
  expect(errors).toEqual([
    'A response came for 77, but no request with this id is open',
    'notifications/progress was ignored: it belongs to no request in flight',
    'The server sent roots/list, which is not allowed; it was ignored',
    'A response came for "\\u009b\\u202e", but no request with this id is open: \\u001b[31m',
  ]);
  expect(server.take()).toEqual([]);
});

test('of ended subscriptions and requests, only the newest are remembered', async () => {
  const { server, carrier, errors } = await carrying();
  for (let id = 1; id <= 300; id += 1) {
    const { response } = send(carrier, 'subscriptions/listen');
    await server.send({ method: 'notifications/cancelled', params: { requestId: id } });
    await response;
  }
  await server.send({ id: 300, result: {} }, { id: 45, result: {} });
  expect(errors).toEqual([]);
  await server.send({ id: 44, result: {} });
  expect(errors).toEqual(['A response came for 44, but no request with this id is open']);
});

test('an error without an id is the response to the request in flight if there is only one', async () => {
  const { server, carrier, errors } = await carrying();
  const error = { code: -32700, message: 'what?' };
  const one = send(carrier, 'a');
  await server.send({ error });
  expect(await one.response).toEqual({ jsonrpc: '2.0', id: 1, error });
  const [two, three] = [send(carrier, 'b'), send(carrier, 'c')];
  await server.send({ error });
  expect(errors).toEqual(['A response came for undefined, but no request with this id is open: what?']);
  await server.send({ id: 3, result: {} }, { id: 2, result: {} });
  expect(await Promise.all([two.response, three.response])).toMatchObject([{ id: 2 }, { id: 3 }]);
});

test('ids continue after those that were already used', async () => {
  const { server, carrier } = await carrying({ lastId: 4 });
  send(carrier, 'a');
  await settled();
  expect(server.next().id).toBe(5);
});

test('a connection that closes fails requests in flight, with its reason', async () => {
  const { server, carrier } = await carrying({}, new Error('it exited with code 1'));
  const { response } = send(carrier, 'a');
  await settled();
  await server.transport.close();
  await expect(response).rejects.toMatchObject({ code: -32000, message: 'Connection closed: it exited with code 1' });
  expect(carrier.closed).toBe(true);
  await expect(send(carrier, 'b').response).rejects.toThrow('it exited');
});

test('a request that cannot be sent fails at once', async () => {
  const { carrier } = await carrying();
  const circle: JsonObject = {};
  circle['params'] = circle;
  const over = new Lifetime();
  over.abort(new Error('no'));
  await expect(carrier.request({ method: '', params: circle, lifetime: over, onnotification() {} })).rejects.toThrow(
    'no',
  );
  await expect(
    carrier.request({
      method: 5 as never,
      params: {},
      lifetime: new Lifetime(),
      onnotification() {},
    }),
  ).rejects.toThrow('method');
});

test('a request that is cancelled while this side closes the connection is not reported', async () => {
  const errors: Error[] = [];
  let closing = false;
  // As a child process, which takes time to end.
  const transport: Transport = {
    start: async () => {},
    send: () => (closing ? Promise.reject(new Error('The connection is closed')) : Promise.resolve()),
    close: async () => void (closing = true),
  };
  const carrier = new TransportCarrier(transport, { onerror: (error) => void errors.push(error) });
  await carrier.start();
  const listen = send(carrier, 'subscriptions/listen');
  await carrier.close();
  listen.cancel();
  await expect(listen.response).rejects.toThrow('This operation was aborted');
  await settled();
  expect(errors).toEqual([]);
});
