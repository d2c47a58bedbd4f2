import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import { deferred, settled } from '../../../../test/support/service.ts';
import { Peer } from '../../../../test/support/wire.ts';
import type { RpcError } from '../../../jsonrpc/errors.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import { connectLegacy } from '../outbound/outbound.ts';

/** A connection on which nothing can be sent from a given moment on, and which closes later. */
async function connected() {
  const [near, far] = memoryTransportPair();
  const server = new Peer(far);
  await far.start();
  const { send, close } = near;
  const transportClosed = deferred();
  let broken = false;
  let sent = 0;
  near.send = (message) => {
    sent += 1;
    return broken ? Promise.reject(new Error('Nothing can be sent')) : send.call(near, message);
  };
  near.close = () => {
    broken = true;
    return transportClosed.promise.then(() => close.call(near));
  };
  const errors: string[] = [];
  const connecting = connectLegacy(near, {
    clientInfo: { name: 'us', version: '1' },
    onerror: ({ message }) => void errors.push(message),
  });
  await settled();
  const serverInfo = { name: 'them', version: '2' };
  await server.send({ id: server.next().id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo } });
  const upstream = await connecting;
  const exchange = new TestExchange('tools/call', { name: 't' });
  const result = upstream.service(exchange).catch(({ code }: RpcError) => code);
  await settled();
  return {
    upstream,
    exchange,
    result,
    transportClosed,
    errors,
    sent: () => sent,
    breakOff: () => void (broken = true),
  };
}

test('closing a connection causes no error about a cancellation that could not be sent', async () => {
  const { upstream, exchange, result, transportClosed, errors } = await connected();
  const closed = upstream.close();
  exchange.abort();
  await settled();
  transportClosed.resolve();
  await closed;
  expect(await result).toBe(-32603);
  expect(errors).toEqual([]);
});

test('a connection that is closing sends no cancellation, because its server ends the calls itself', async () => {
  const { upstream, exchange, result, transportClosed, sent } = await connected();
  const before = sent();
  const closed = upstream.close();
  exchange.abort();
  expect(await result).toBe(-32603);
  expect(sent()).toBe(before);
  transportClosed.resolve();
  await closed;
});

test('a broken connection causes an error about a cancellation that could not be sent', async () => {
  const { exchange, result, errors, breakOff } = await connected();
  breakOff();
  exchange.abort();
  expect(await result).toBe(-32603);
  await settled();
  expect(errors).toEqual(['Nothing can be sent']);
});
