import { expect, test } from 'vitest';
import { Events, TestHttp } from '../../../../../test/support/http.ts';
import { deferred, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';

const capabilities = { roots: {}, elicitation: {} };

test('a question is sent on the stream of its call, and its answer is posted', async () => {
  const { service } = scripted({ ask: (exchange) => exchange.ask('roots/list', {}) });
  const session = await new TestHttp(service).open('2025-11-25', capabilities);
  const standalone = await session.events();
  const events = new Events(await session.call(1, 'ask'));
  const question = await events.message();
  expect(question).toEqual({ jsonrpc: '2.0', id: expect.any(Number), method: 'roots/list', params: {} });
  const answer = await session.post({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
  expect(answer.status).toBe(202);
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { roots: [] } });
  expect(await events.next()).toBeUndefined();
  await session.delete();
  expect((await standalone.rest()).filter(({ data }) => data)).toEqual([]);
});

test.each([
  ['its GET stream, if the client reads that', true],
  ['the stream of a call, if the client reads no other', false],
])('a question that another call of the client may have asked is sent on %s', async (_, reads) => {
  const { service } = scripted({ ask: (exchange) => exchange.ask('roots/list', {}, { outlivesRequest: true }) });
  const session = await new TestHttp(service).open('2025-11-25', capabilities);
  const standalone = reads ? await session.events() : undefined;
  const events = new Events(await session.call(1, 'ask'));
  const question = await (standalone ?? events).message();
  expect(question).toMatchObject({ method: 'roots/list' });
  await session.post({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { roots: [] } });
});

test('a question that was lost with its connection is sent again on resumption, and can then be answered', async () => {
  const { service } = scripted({ ask: (exchange) => exchange.ask('roots/list', {}) });
  const session = await new TestHttp(service).open('2025-11-25', capabilities);
  const events = new Events(await session.call(1, 'ask'));
  const priming = await events.next();
  await events.cancel();
  const resumed = await session.events(priming!.id);
  const question = await resumed.message();
  await session.post({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
  expect(await resumed.message()).toMatchObject({ id: 1, result: { roots: [] } });
});

test('a malformed answer is refused, and fails its question', async () => {
  const { service } = scripted({
    ask: (exchange) => exchange.ask('roots/list', {}).catch(({ message }: Error) => ({ message })),
  });
  const session = await new TestHttp(service).open('2025-11-25', capabilities);
  const events = new Events(await session.call(1, 'ask'));
  const { id } = await events.message();
  const refusal = await session.post({ jsonrpc: '2.0', id, result: 'text' });
  expect(refusal.status).toBe(400);
  const error = { code: -32600, message: 'Invalid response: "result" must be an object' };
  expect(await refusal.json()).toEqual({ jsonrpc: '2.0', error });
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { message: error.message } });
});

test('a cancelled call cancels its question on its own stream, which then ends', async () => {
  const { service } = scripted({ ask: (exchange) => exchange.ask('roots/list', {}) });
  const session = await new TestHttp(service).open('2025-11-25', capabilities);
  const events = new Events(await session.call(1, 'ask'));
  const question = await events.message();
  await session.notify('notifications/cancelled', { requestId: 1 });
  expect(await events.message()).toMatchObject({
    method: 'notifications/cancelled',
    params: { requestId: question.id },
  });
  expect(await events.next()).toBeUndefined();
});

test('a question that belongs to no call is sent on the GET stream', async () => {
  const subscribers: Exchange[] = [];
  const { service } = scripted({ 'subscriptions/listen': listening(subscribers) });
  const session = await new TestHttp(service).open('2025-11-25', capabilities);
  await settled();
  const questionAnswer = subscribers[0]!.ask('roots/list', {});
  // Nothing is lost if the client opens its stream later.
  const events = await session.events();
  const question = await events.message();
  await session.post({ jsonrpc: '2.0', id: question.id, result: { roots: [{ uri: 'file:///' }] } });
  expect(await questionAnswer).toEqual({ roots: [{ uri: 'file:///' }] });
});

test('a question in one session cannot be answered from another', async () => {
  const { service } = scripted({ ask: (exchange) => exchange.ask('roots/list', {}) });
  const http = new TestHttp(service);
  const ours = await http.open('2025-11-25', capabilities);
  const theirs = await http.open('2025-11-25', capabilities);
  const events = new Events(await ours.call(1, 'ask'));
  const { id } = await events.message();
  expect((await theirs.post({ jsonrpc: '2.0', id, result: { roots: ['forged'] } })).status).toBe(202);
  await ours.post({ jsonrpc: '2.0', id, result: { roots: [] } });
  expect(await events.message()).toMatchObject({ id: 1, result: { roots: [] } });
});

test('progress of a call arrives on its stream while it runs', async () => {
  const steps = [deferred(), deferred()];
  const { service } = scripted({
    count: async (exchange) => {
      const { progressToken } = exchange.params['_meta'];
      for (const [index, step] of steps.entries()) {
        await step.promise;
        await exchange.notify('notifications/progress', { progressToken, progress: index + 1 });
      }
      return {};
    },
  });
  const session = await new TestHttp(service, { grace: 0 }).open();
  const events = new Events(await session.call('c', 'count', { _meta: { progressToken: 'p' } }));
  for (const [index, step] of steps.entries()) {
    step.resolve();
    expect(await events.message()).toMatchObject({ params: { progressToken: 'p', progress: index + 1 } });
  }
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 'c', result: {} });
});

test('several calls of a session are answered separately', async () => {
  const gates = new Map([1, 2, 3].map((id) => [id, deferred()]));
  const { service } = scripted({
    work: async (exchange) => {
      const { n } = exchange.params;
      await exchange.notify('notifications/message', { level: 'info', data: n });
      await gates.get(n)!.promise;
      return { n };
    },
  });
  const session = await new TestHttp(service).open();
  const replies = await Promise.all([1, 2, 3].map((n) => session.call(n, 'work', { n })));
  for (const n of [3, 1, 2]) gates.get(n)!.resolve();
  for (const [index, reply] of replies.entries()) {
    const messages = (await new Events(reply).rest()).filter(({ data }) => data).map(({ data }) => JSON.parse(data!));
    expect(messages.map(({ id, result, params }) => id ?? params.data ?? result)).toEqual([index + 1, index + 1]);
    expect(messages[1].result).toEqual({ n: index + 1 });
  }
});
