import { describe, expect, test } from 'vitest';
import { meta, TestReply } from '../../../../test/support/modern.ts';
import { settled } from '../../../../test/support/service.ts';
import type { JsonObject, RequestId } from '../../../jsonrpc/message.ts';
import { readCaller } from './caller.ts';
import { progressTokenOf } from '../../progress-token.ts';
import { ModernExchange, type Round } from './exchange.ts';

const LEVEL = 'io.modelcontextprotocol/logLevel';

interface TestRound extends Round {
  readonly reply: TestReply;
}

function round(id: RequestId, metaFields: JsonObject = {}, principal?: string): TestRound {
  const params = { _meta: meta({}, metaFields) };
  const extra = { principal };
  const caller = readCaller({ jsonrpc: '2.0', id, method: 'x', params }, extra, ['2026-07-28']);
  return { id, caller, extra, reply: new TestReply(), progressToken: progressTokenOf(params) };
}

function opened(method = 'tools/call', metaFields?: JsonObject, params: JsonObject = {}) {
  const first = round(1, metaFields);
  const exchange = new ModernExchange(method, params, first, () => Promise.reject(new Error('nobody answers')));
  return { exchange, first };
}

const log = (level: string, data = level): [string, JsonObject] => ['notifications/message', { level, data }];
const sentOn = ({ reply }: TestRound): unknown[] =>
  reply.notifications.map(({ method, params }) => [method.replace('notifications/', ''), params]);

describe('on the stream of a request', () => {
  test('log messages are not sent unless requested', async () => {
    const { exchange, first } = opened();
    await exchange.notify(...log('emergency'));
    expect(sentOn(first)).toEqual([]);
  });

  test('log messages of the requested level and above are sent', async () => {
    const { exchange, first } = opened('tools/call', { [LEVEL]: 'warning' });
    for (const level of ['debug', 'info', 'notice', 'warning', 'error']) await exchange.notify(...log(level));
    expect(sentOn(first)).toEqual([
      ['message', { level: 'warning', data: 'warning' }],
      ['message', { level: 'error', data: 'error' }],
    ]);
  });

  test('progress is sent with the token of the request, and not without one', async () => {
    const { exchange, first } = opened('tools/call', { progressToken: 'mine' });
    await exchange.notify('notifications/progress', { progressToken: 'yours', progress: 1 });
    await exchange.notify('notifications/progress', { progress: 2 });
    expect(sentOn(first)).toEqual([
      ['progress', { progressToken: 'mine', progress: 1 }],
      ['progress', { progressToken: 'mine', progress: 2 }],
    ]);
    const silent = opened();
    await silent.exchange.notify('notifications/progress', { progressToken: 'yours', progress: 1 });
    expect(sentOn(silent.first)).toEqual([]);
  });

  test.each([
    'subscriptions/acknowledged',
    'tools/list_changed',
    'prompts/list_changed',
    'resources/list_changed',
    'resources/updated',
  ])('%s is not sent, because it belongs to a subscription', async (kind) => {
    const { exchange, first } = opened();
    await exchange.notify(`notifications/${kind}`, {});
    expect(sentOn(first)).toEqual([]);
  });

  test('unknown notifications are sent', async () => {
    const { exchange, first } = opened();
    await exchange.notify('notifications/vendor/odd', { a: 1 });
    await exchange.notify('notifications/vendor/bare');
    expect(sentOn(first)).toEqual([
      ['vendor/odd', { a: 1 }],
      ['vendor/bare', {}],
    ]);
  });
});

describe('on the stream of a subscription', () => {
  const everything = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a'], taskIds: ['t'] };
  const subscribed = (metaFields?: JsonObject) =>
    opened('subscriptions/listen', metaFields, { notifications: everything });
  const acknowledge = (exchange: ModernExchange, notifications: JsonObject = everything): Promise<void> =>
    exchange.notify('notifications/subscriptions/acknowledged', { notifications });
  const names = (first: TestRound): unknown[] => sentOn(first).map((each) => (each as unknown[])[0]);

  test('every message has the subscription id, and keeps its other fields', async () => {
    const { exchange, first } = subscribed();
    await acknowledge(exchange);
    await exchange.notify('notifications/tools/list_changed');
    await exchange.notify('notifications/resources/updated', { uri: 'a', _meta: { b: 1 } });
    const subscription = { 'io.modelcontextprotocol/subscriptionId': 1 };
    expect(sentOn(first)).toEqual([
      ['subscriptions/acknowledged', { notifications: everything, _meta: subscription }],
      ['tools/list_changed', { _meta: subscription }],
      ['resources/updated', { uri: 'a', _meta: { b: 1, ...subscription } }],
    ]);
  });

  test('log messages and progress are not sent, even if requested', async () => {
    const { exchange, first } = subscribed({ [LEVEL]: 'debug', progressToken: 'p' });
    await acknowledge(exchange);
    await exchange.notify(...log('error'));
    await exchange.notify('notifications/progress', { progress: 1 });
    expect(names(first)).toEqual(['subscriptions/acknowledged']);
  });

  test('nothing is sent before the acknowledgement, and earlier changes follow it once', async () => {
    const { exchange, first } = subscribed();
    for (let n = 0; n < 3; n += 1) {
      await exchange.notify('notifications/tools/list_changed');
      await exchange.notify('notifications/resources/updated', { uri: 'a', n });
    }
    await exchange.notify('notifications/tasks', { taskId: 't' });
    expect(sentOn(first)).toEqual([]);
    await acknowledge(exchange);
    expect(names(first)).toEqual(['subscriptions/acknowledged', 'tools/list_changed', 'resources/updated', 'tasks']);
    expect(sentOn(first)[2]).toMatchObject(['resources/updated', { n: 2 }]);
  });

  test('changes before the acknowledgement are limited', async () => {
    const { exchange, first } = subscribed();
    for (let n = 0; n < 1000; n += 1) await exchange.notify('notifications/resources/updated', { uri: `a/${n}` });
    await acknowledge(exchange);
    expect(sentOn(first)).toHaveLength(101);
    expect(sentOn(first).at(-1)).toMatchObject(['resources/updated', { uri: 'a/999' }]);
  });

  test('only acknowledged changes are sent, before or after the acknowledgement', async () => {
    const { exchange, first } = subscribed();
    const notifyAll = async (): Promise<void> => {
      await exchange.notify('notifications/tools/list_changed');
      await exchange.notify('notifications/prompts/list_changed');
      await exchange.notify('notifications/resources/list_changed');
      await exchange.notify('notifications/resources/updated', { uri: 'a' });
      await exchange.notify('notifications/tasks', { taskId: 'u' });
      await exchange.notify('notifications/tasks/status', { taskId: 't' });
      await exchange.notify('notifications/elicitation/complete', {});
      await exchange.notify('notifications/vendor', {});
    };
    await notifyAll();
    await acknowledge(exchange, { promptsListChanged: true });
    await notifyAll();
    expect(names(first)).toEqual(['subscriptions/acknowledged', 'prompts/list_changed', 'prompts/list_changed']);
  });

  test('unknown notifications are sent to subscribers that requested something unknown', async () => {
    const { exchange, first } = opened('subscriptions/listen', {}, { notifications: { 'vendor/odd': true } });
    await acknowledge(exchange, { 'vendor/odd': true });
    await exchange.notify('notifications/vendor/odd', {});
    expect(names(first)).toEqual(['subscriptions/acknowledged', 'vendor/odd']);
  });
});

describe('while a request waits for its caller to return', () => {
  test('the newest 100 log messages are kept for the next round, and unknown notifications are dropped', async () => {
    const { exchange } = opened('tools/call', { [LEVEL]: 'debug' });
    exchange.suspend();
    for (let n = 0; n < 105; n += 1) await exchange.notify(...log('info', String(n)));
    await exchange.notify('notifications/vendor/odd');
    const next = round(2, { [LEVEL]: 'debug' });
    exchange.resume(next);
    await settled();
    expect(sentOn(next)).toEqual(
      Array.from({ length: 100 }, (_, n) => ['message', { level: 'info', data: String(n + 5) }]),
    );
  });

  test('the newest progress is kept, and is sent with the token of the next round', async () => {
    const { exchange } = opened('tools/call', { progressToken: 'p1' });
    exchange.suspend();
    for (const progress of [1, 2]) await exchange.notify('notifications/progress', { progressToken: 'own', progress });
    const next = round(2, { progressToken: 'p2' });
    exchange.resume(next);
    await exchange.notify('notifications/progress', { progress: 3 });
    expect(sentOn(next)).toEqual([
      ['progress', { progressToken: 'p2', progress: 2 }],
      ['progress', { progressToken: 'p2', progress: 3 }],
    ]);
    exchange.suspend();
    await exchange.notify('notifications/progress', { progress: 4 });
    const silent = round(3, {});
    exchange.resume(silent);
    await settled();
    expect(sentOn(silent)).toEqual([]);
  });

  test('the newest log messages are kept up to 256 KiB, and a larger one is dropped', async () => {
    const { exchange } = opened('tools/call', { [LEVEL]: 'debug' });
    exchange.suspend();
    const large = (n: number): string => String(n).padEnd(100 * 1024, '.');
    for (let n = 0; n < 5; n += 1) await exchange.notify(...log('info', large(n)));
    await exchange.notify(...log('info', 'x'.repeat(256 * 1024)));
    await exchange.notify(...log('info', 'last'));
    const next = round(2, { [LEVEL]: 'debug' });
    exchange.resume(next);
    await settled();
    const data = [large(3), large(4), 'last'];
    expect(sentOn(next)).toEqual(data.map((each) => ['message', { level: 'info', data: each }]));
    exchange.suspend();
    for (let n = 0; n < 2; n += 1) await exchange.notify(...log('info', large(n)));
    const third = round(3, { [LEVEL]: 'debug' });
    exchange.resume(third);
    await settled();
    expect(sentOn(third)).toHaveLength(2);
    exchange.suspend();
    await expect(exchange.notify('notifications/message', { level: 'info', data: 1n })).rejects.toThrow('BigInt');
  });

  test('the next round sets the log level', async () => {
    const { exchange } = opened('tools/call', { [LEVEL]: 'debug' });
    exchange.suspend();
    await exchange.notify(...log('info'));
    await exchange.notify(...log('error'));
    const next = round(2, { [LEVEL]: 'error' });
    exchange.resume(next);
    await settled();
    expect(sentOn(next)).toEqual([['message', { level: 'error', data: 'error' }]]);
  });

  test('the caller is still the previous one, and then the one of the next round', () => {
    const { exchange, first } = opened();
    exchange.suspend();
    expect(exchange.caller).toBe(first.caller);
    const next = round(2, {}, 'ada');
    exchange.resume(next);
    expect(exchange.caller.principal).toBe('ada');
  });
});

describe('after the end of a request', () => {
  test('nothing is sent and nothing is asked', async () => {
    const { exchange, first } = opened();
    exchange.answered();
    await exchange.notify('notifications/vendor/odd');
    await expect(exchange.ask('roots/list', {})).rejects.toThrow('has ended');
    expect(sentOn(first)).toEqual([]);
  });

  test('its signal is aborted with the first reason, but not by a response', () => {
    const { exchange } = opened();
    const { signal } = exchange;
    exchange.answered();
    expect(signal.aborted).toBe(false);
    exchange.abort(new Error('closing'));
    expect(signal.reason).toEqual(new Error('closing'));
    exchange.abort(new Error('later'));
    expect(signal.reason).toEqual(new Error('closing'));
    const late = opened().exchange;
    late.abort(new Error('gone'));
    expect(late.signal.reason).toEqual(new Error('gone'));
  });
});

test('a question that was cancelled before it was asked is not asked', async () => {
  const { exchange } = opened();
  const signal = AbortSignal.abort(new Error('never mind'));
  await expect(exchange.ask('roots/list', {}, { signal })).rejects.toThrow('never mind');
});
