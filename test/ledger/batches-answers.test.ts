import { describe, expect, test } from 'vitest';
import { Events, TestHttp } from '../support/http.ts';
import { scripted } from '../support/service.ts';
import { opened } from '../support/wire.ts';

const REVISION = '2025-03-26';

/** Asks the client twice before it responds. */
const { service: asking, seen } = scripted({
  ask: async (exchange) => {
    const answers = [exchange.ask('q/one', {}), exchange.ask('q/two', {})];
    return { answers: await Promise.all(answers) };
  },
});

describe('a batch of responses', () => {
  test('answers pending questions, and gets 202 without a body', async () => {
    const session = await new TestHttp(asking).open(REVISION);
    const events = new Events(await session.call(1, 'ask'));
    const [one, two] = [await events.message(), await events.message()];
    expect([one.method, two.method]).toEqual(['q/one', 'q/two']);
    const response = await session.post([
      { jsonrpc: '2.0', id: two.id, result: { n: 2 } },
      { jsonrpc: '2.0', id: one.id, result: { n: 1 } },
    ]);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
    expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { answers: [{ n: 1 }, { n: 2 }] } });
    expect(await events.next()).toBeUndefined();
  });

  test('is refused if one response is malformed, and that fails its question', async () => {
    const session = await new TestHttp(asking).open(REVISION);
    const events = new Events(await session.call(1, 'ask'));
    const [one, two] = [await events.message(), await events.message()];
    const response = await session.post([
      { jsonrpc: '2.0', id: one.id, result: {} },
      { jsonrpc: '2.0', id: two.id, result: {}, error: { code: 1, message: 'both' } },
    ]);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual([{ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } }]);
    expect(await events.message()).toMatchObject({ id: 1, error: { message: expect.any(String) } });
  });
});

test('a notification in a batch gets no response, even if it fails', async () => {
  const { service } = scripted({
    'notifications/odd': () => {
      throw new Error('cannot take it');
    },
  });
  const session = await new TestHttp(service).open(REVISION);
  const response = await session.post([
    { jsonrpc: '2.0', method: 'notifications/odd' },
    { jsonrpc: '2.0', method: 'notifications/unheard/of', params: { a: 1 } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: null } },
    { jsonrpc: '2.0', method: 'tools/list' },
    { jsonrpc: '2.0', id: 1, method: 'ping' },
  ]);
  expect(await response.json()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
});

test('a single notification gets no response, even if it fails', async () => {
  const { service } = scripted({
    'notifications/odd': () => {
      throw new Error('cannot take it');
    },
  });
  const { client, errors } = await opened(service, { revision: REVISION });
  await client.send(
    { method: 'notifications/initialized' },
    { method: 'notifications/odd' },
    { method: 'notifications/unheard/of', params: { a: 1 } },
    { method: 'notifications/cancelled', params: { requestId: null } },
    { method: 'notifications/cancelled' },
    { method: 'notifications/progress', params: {} },
    { method: 'tools/list' },
  );
  expect(client.take()).toEqual([]);
  expect(errors.map(({ message }) => message)).toContain('cannot take it');
});

test('the ids of questions are never reused in a session', async () => {
  const session = await new TestHttp(asking).open(REVISION);
  const ids: unknown[] = [];
  for (let round = 1; round <= 3; round += 1) {
    const events = new Events(await session.call(round, 'ask'));
    const questions = [await events.message(), await events.message()];
    ids.push(...questions.map(({ id }) => id));
    await session.post(questions.map(({ id }) => ({ jsonrpc: '2.0', id, result: {} })));
    await events.rest();
  }
  expect(seen.at(-1)!.method).toBe('ask');
  for (const id of ids) expect(typeof id === 'string' || Number.isInteger(id)).toBe(true);
  expect(new Set(ids).size).toBe(6);
});

test('neither an answered question nor an unknown one is cancelled', async () => {
  const controller = new AbortController();
  const { service } = scripted({
    ask: async (exchange) => {
      await exchange.ask('q', {}, { signal: controller.signal });
      controller.abort(new Error('too late'));
      return { done: true };
    },
  });
  const { client } = await opened(service, { revision: REVISION });
  await client.send({ id: 1, method: 'ask' });
  const { id } = client.next();
  await client.send({ id, result: {} });
  expect(client.take()).toEqual([{ jsonrpc: '2.0', id: 1, result: { done: true } }]);
  expect(await client.request(2, 'ask')).toMatchObject({ error: { message: 'too late' } });
  expect(client.take()).toEqual([]);
});
