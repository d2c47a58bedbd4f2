import { expect, test } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import { unhandled } from '../../test/support/service.ts';
import { Context } from './context.ts';

function setUp(params = {}, options: TestExchangeOptions = {}) {
  const exchange = new TestExchange('tools/call', params, options);
  return { exchange, ctx: new Context(exchange) };
}

test.each([['token'], [0]])('progress goes to the token %j, and only when it grows', async (progressToken) => {
  const { exchange, ctx } = setUp({ _meta: { progressToken } });
  await ctx.progress(0);
  await ctx.progress(0.5, 1);
  await ctx.progress(0.5, 1, 'again');
  await ctx.progress(0.4);
  await ctx.progress(Number.NaN);
  await ctx.progress(Number.POSITIVE_INFINITY);
  await ctx.progress(1, 1, 'done');
  expect(exchange.notified).toEqual([
    { method: 'notifications/progress', params: { progressToken, progress: 0 } },
    { method: 'notifications/progress', params: { progressToken, progress: 0.5, total: 1 } },
    { method: 'notifications/progress', params: { progressToken, progress: 1, total: 1, message: 'done' } },
  ]);
});

test.each([[{}], [{ _meta: {} }], [{ _meta: { progressToken: null } }], [{ _meta: 'x' }]])(
  'without a token there is no progress: %j',
  async (params) => {
    const { exchange, ctx } = setUp(params);
    await ctx.progress(1);
    expect(exchange.notified).toEqual([]);
  },
);

test('log messages below the caller’s level are not sent', async () => {
  const { exchange, ctx } = setUp({}, { caller: { logLevel: 'warning' } });
  await ctx.log('info', 'no');
  await ctx.log('warning', { why: 'x' });
  await ctx.log('emergency', 'yes', 'core');
  expect(exchange.notified).toEqual([
    { method: 'notifications/message', params: { level: 'warning', data: { why: 'x' } } },
    { method: 'notifications/message', params: { level: 'emergency', logger: 'core', data: 'yes' } },
  ]);
});

test('questions are asked on the exchange', async () => {
  const roots = [{ uri: 'file:///a' }];
  const { exchange, ctx } = setUp(
    {},
    { onask: (method) => (method === 'roots/list' ? { roots } : { action: 'accept', content: { a: 1 } }) },
  );
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { a: { type: 'number' } } } };
  const visit = { message: 'Go', url: 'https://example.com', elicitationId: '1' };
  expect(await ctx.elicit(form)).toEqual({ action: 'accept', content: { a: 1 } });
  await ctx.elicitUrl(visit);
  await ctx.sample({ messages: [], maxTokens: 1 });
  expect(await ctx.roots()).toEqual(roots);
  expect(exchange.asked).toEqual([
    { method: 'elicitation/create', params: form },
    { method: 'elicitation/create', params: { mode: 'url', ...visit } },
    { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
    { method: 'roots/list', params: {} },
  ]);
});

test('an answer without roots is an error', async () => {
  const { ctx } = setUp({}, { onask: () => ({}) });
  await expect(ctx.roots()).rejects.toMatchObject({ code: -32602 });
});

test('the caller and its signal are those of the exchange', () => {
  const { exchange, ctx } = setUp();
  expect(ctx.caller).toBe(exchange.caller);
  expect(ctx.exchange).toBe(exchange);
  exchange.abort();
  expect(ctx.signal.aborted).toBe(true);
});

test('what is lost and not awaited ends nothing, and whoever awaits it hears of it', async () => {
  const rejections = unhandled();
  const lost = { onnotify: () => Promise.reject(new Error('lost')) };
  const { ctx } = setUp({ _meta: { progressToken: 1 } }, lost);
  void ctx.log('info', 'x');
  void ctx.progress(1);
  expect(await rejections()).toEqual([]);
  await expect(ctx.log('info', 'x')).rejects.toThrow('lost');
  await expect(ctx.progress(2)).rejects.toThrow('lost');
});
