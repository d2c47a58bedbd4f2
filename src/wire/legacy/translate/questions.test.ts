import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { scripted, settled } from '../../../../test/support/service.ts';
import { hello, opened, served } from '../../../../test/support/wire.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks the caller the question of a request. */
const { service } = scripted({
  ask: (exchange) => exchange.ask(exchange.params['method'], exchange.params['params'] ?? {}),
});
const everything = { sampling: {}, elicitation: {}, roots: {} };

test.each([
  [
    'sampling/createMessage',
    { messages: [], maxTokens: 1 },
    { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } },
  ],
  ['elicitation/create', { message: 'm', requestedSchema: {} }, { action: 'decline' }],
  ['roots/list', {}, { roots: [] }],
  ['vendor/question', { any: 'thing' }, { any: 'answer' }],
])('%s is asked during a call', async (method, params, result) => {
  const { client } = await opened(service, { capabilities: everything });
  await client.send({ id: 'call', method: 'ask', params: { method, params } });
  const question = client.next();
  expect(question).toEqual({ jsonrpc: '2.0', id: expect.any(Number), method, params });
  await client.send({ id: question.id, result });
  expect(client.next()).toEqual({ jsonrpc: '2.0', id: 'call', result });
});

test.each<[string, JsonObject, JsonObject, string]>([
  ['sampling/createMessage', {}, {}, 'sampling'],
  ['sampling/createMessage', { tools: [] }, { sampling: {} }, 'sampling.tools'],
  ['elicitation/create', {}, {}, 'elicitation'],
  ['elicitation/create', { mode: 'url' }, { elicitation: {} }, 'elicitation.url'],
  ['elicitation/create', {}, { elicitation: { url: {} } }, 'elicitation.form'],
  ['roots/list', {}, { sampling: {} }, 'roots'],
])('%s with %j is not sent to a client with %j', async (method, params, capabilities, missing) => {
  const { client } = await opened(service, { capabilities });
  const answer = await client.request(1, 'ask', { method, params });
  expect(answer.error).toEqual({ code: -32601, message: expect.stringContaining(`the ${missing} capability`) });
  expect(client.take()).toEqual([]);
});

test("the client's error becomes the error of the question", async () => {
  const { client } = await opened(service, { capabilities: everything });
  await client.send({ id: 1, method: 'ask', params: { method: 'roots/list' } });
  const error = { code: -1, message: 'User rejected', data: { why: 'no' } };
  await client.send({ id: client.next().id, error });
  expect(client.next()).toEqual({ jsonrpc: '2.0', id: 1, error });
});

test('an unanswered question times out and is cancelled', async () => {
  const { client } = await opened(service, { capabilities: everything, askTimeout: 1000 });
  await client.send({ id: 1, method: 'ask', params: { method: 'roots/list' } });
  const { id } = client.next();
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: expect.any(String) } },
    { jsonrpc: '2.0', id: 1, error: { code: -32001, message: expect.stringContaining('timed out') } },
  ]);
});

test('progress extends the time of a question, under the hard maximum', async () => {
  const { client } = await opened(service, { capabilities: everything, askTimeout: 1000, maxAskTimeout: 2500 });
  const params = { _meta: { progressToken: 'p' } };
  await client.send({ id: 1, method: 'ask', params: { method: 'roots/list', params } });
  client.take();
  for (let progress = 1; progress <= 2; progress += 1) {
    await vi.advanceTimersByTimeAsync(900);
    await client.send({ method: 'notifications/progress', params: { progressToken: 'p', progress } });
  }
  await vi.advanceTimersByTimeAsync(600);
  expect(client.take()).toEqual([]);
  await vi.advanceTimersByTimeAsync(100);
  expect(client.take()).toHaveLength(2);
});

test('questions of several calls are kept separate', async () => {
  const { client } = await opened(service, { capabilities: everything });
  await client.send(
    { id: 1, method: 'ask', params: { method: 'q', params: { n: 1 } } },
    { id: 2, method: 'ask', params: { method: 'q', params: { n: 2 } } },
  );
  const [first, second] = [client.next(), client.next()];
  await client.send(
    { id: second.id, result: { n: 2 } },
    { id: first.id, result: { n: 1 } },
    { id: first.id, result: { n: 3 } },
  );
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', id: 2, result: { n: 2 } },
    { jsonrpc: '2.0', id: 1, result: { n: 1 } },
  ]);
});

test('a question after the response is refused', async () => {
  const scripts = scripted();
  const { client } = await opened(scripts.service, { capabilities: everything });
  await client.request(1, 'echo');
  await expect(scripts.seen.at(-1)!.ask('roots/list', {})).rejects.toThrow(
    'the echo request that it belongs to has ended',
  );
});

test('the questions of an input_required result are asked, and the request is repeated with the answers', async () => {
  const scripts = scripted({
    work: ({ params }) =>
      params['inputResponses']
        ? { got: params['inputResponses'], state: params['requestState'] }
        : {
            resultType: 'input_required',
            requestState: 'sealed',
            inputRequests: {
              where: { method: 'roots/list' },
              who: { method: 'elicitation/create', params: { message: 'who?' } },
            },
          },
  });
  const { client } = await opened(scripts.service, { capabilities: everything });
  await client.send({ id: 1, method: 'work' });
  const [where, who] = [client.next(), client.next()];
  expect([where.method, who.method]).toEqual(['roots/list', 'elicitation/create']);
  await client.send({ id: who.id, result: { action: 'cancel' } });
  expect(client.take()).toEqual([]);
  await client.send({ id: where.id, result: { roots: [] } });
  expect(client.next().result).toEqual({ got: { where: { roots: [] }, who: { action: 'cancel' } }, state: 'sealed' });
});

test('a session cannot send the answers and the state of a round itself', async () => {
  const scripts = scripted({ 'tools/call': ({ params }) => ({ content: [], structuredContent: params }) });
  const { client } = await opened(scripts.service);
  const params = { name: 'x', requestState: 'of another client', inputResponses: { q: { action: 'accept' } } };
  expect(await client.request(1, 'tools/call', params)).toMatchObject({ result: { content: [] } });
  expect(scripts.seen.at(-1)!.params).toEqual({ name: 'x' });
});

test('if a question of an input_required result cannot be answered, the request fails and its other questions are cancelled', async () => {
  const scripts = scripted({
    work: () => ({
      resultType: 'input_required',
      inputRequests: { where: { method: 'roots/list' }, what: { method: 'sampling/createMessage', params: {} } },
    }),
  });
  const { client } = await opened(scripts.service, { capabilities: { roots: {} } });
  await client.send({ id: 1, method: 'work' });
  const question = client.next();
  expect(question.method).toBe('roots/list');
  expect(client.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: question.id } });
  expect(client.next()).toMatchObject({ id: 1, error: { code: -32601 } });
});

test('a question that was cancelled before is not asked', async () => {
  const scripts = scripted({
    work: (exchange) => exchange.ask('q', { n: 1 }, { signal: AbortSignal.abort(new Error('never mind')) }),
  });
  const { client } = await opened(scripts.service);
  expect((await client.request(1, 'work')).error.message).toBe('never mind');
  await settled();
  expect(client.take()).toEqual([]);
});

test('a question waits until the client is initialized, and is not asked if it is cancelled before that', async () => {
  const { client } = await served(service, { askTimeout: 1000 });
  await client.request('init', 'initialize', hello('2025-03-26', everything));
  const ask = (n: number) => ({ id: n, method: 'ask', params: { method: 'q', params: { n } } });
  await client.send(ask(1), ask(2), { method: 'notifications/cancelled', params: { requestId: 1 } });
  await vi.advanceTimersByTimeAsync(900);
  await client.send(ask(3));
  await vi.advanceTimersByTimeAsync(100);
  // The second timed out, the first was cancelled: the client got neither question.
  expect(client.take()).toEqual([{ jsonrpc: '2.0', id: 2, error: expect.objectContaining({ code: -32001 }) }]);
  expect(await client.request('p', 'ping')).toMatchObject({ result: {} });
  await client.send({ method: 'notifications/initialized' });
  const question = client.next();
  expect(question).toEqual({ jsonrpc: '2.0', id: expect.any(Number), method: 'q', params: { n: 3 } });
  await client.send({ id: question.id, result: { a: 1 } }, { method: 'notifications/initialized' });
  expect(client.take()).toEqual([{ jsonrpc: '2.0', id: 3, result: { a: 1 } }]);
});
