import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import { askedServer } from '../../../../test/support/own-requests.ts';
import { settled } from '../../../../test/support/service.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import { UpstreamListeners } from './upstream-listeners.ts';

const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
const noResource = new RpcError(-32002, 'no such resource', { origin: 'peer' });
const urisOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `x://${n}`);

/** @param refused the URIs that the server refuses. */
async function listen(notifications: object, refused: readonly string[] = []) {
  const server = askedServer();
  const errors: string[] = [];
  const listeners = new UpstreamListeners(server.send, ({ message }) => void errors.push(message));
  const exchange = new TestExchange('subscriptions/listen', { notifications });
  const over = listeners.listen(exchange, capabilities);
  over.catch(() => {});
  /** Answers what was asked until now, and returns it. */
  const answerAll = async (): Promise<string[]> => {
    await settled();
    const asked = server.asked().map((request) => request.replace('resources/subscribe ', ''));
    for (const uri of asked) server.answer(refused.includes(uri) ? noResource : {});
    await settled();
    return asked;
  };
  return { ...server, listeners, exchange, over, errors, answerAll };
}

test('a server is asked for twenty resources at once', async () => {
  const { answerAll, exchange } = await listen({ resourceSubscriptions: urisOf(45) });
  expect(await answerAll()).toEqual(urisOf(20));
  const rest = [...(await answerAll()), ...(await answerAll())];
  expect(rest).toEqual(urisOf(45).slice(20));
  expect(exchange.notified.map(({ params }) => params)).toEqual([
    { notifications: { resourceSubscriptions: urisOf(45) } },
  ]);
});

test('resources that the server refuses are left out of the acknowledgement, and reported once', async () => {
  const { answerAll, exchange, errors } = await listen({ resourceSubscriptions: urisOf(5) }, ['x://1', 'x://3']);
  await answerAll();
  expect(exchange.notified.map(({ params }) => params)).toEqual([
    { notifications: { resourceSubscriptions: ['x://0', 'x://2', 'x://4'] } },
  ]);
  expect(errors).toEqual(['Some resource subscriptions were refused: no such resource']);
});

test('a subscription to lists is acknowledged if the server refuses all its resources', async () => {
  const { answerAll, exchange } = await listen({ toolsListChanged: true, resourceSubscriptions: ['x://0'] }, ['x://0']);
  await answerAll();
  expect(exchange.notified.map(({ params }) => params)).toEqual([{ notifications: { toolsListChanged: true } }]);
});

test('a subscription of which the server refuses everything fails', async () => {
  const { answerAll, over, exchange, errors } = await listen({ resourceSubscriptions: urisOf(2) }, urisOf(2));
  await answerAll();
  await expect(over).rejects.toMatchObject({ code: -32002, message: 'no such resource' });
  expect([exchange.notified, errors]).toEqual([[], []]);
});

test('a server that does not answer one of them is asked for no more, and all are unsubscribed', async () => {
  const { answer, asked, over } = await listen({ resourceSubscriptions: urisOf(30) });
  await settled();
  expect(asked()).toHaveLength(20);
  for (let n = 0; n < 19; n += 1) answer(n === 0 ? new RpcError(-32001, 'timed out') : {});
  await settled();
  answer();
  await settled();
  expect(asked()).toEqual(
    urisOf(20)
      .slice(1)
      .map((uri) => `resources/unsubscribe ${uri}`),
  );
  for (let n = 0; n < 19; n += 1) answer();
  await expect(over).rejects.toThrow('timed out');
});
