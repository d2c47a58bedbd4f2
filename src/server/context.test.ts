import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import { unhandled } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';
import { Context, type CallerFeature } from './context.ts';

function setUp(params = {}, options: TestExchangeOptions = {}) {
  const exchange = new TestExchange('tools/call', params, options);
  return { exchange, ctx: new Context(exchange) };
}

test.each([['token'], [0]])('progress is sent with the token %j, and only if it increases', async (progressToken) => {
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
  'without a token, no progress is sent: %j',
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

test('questions are sent on the exchange', async () => {
  const roots = [{ uri: 'file:///a' }];
  const { exchange, ctx } = setUp(
    {},
    {
      onask: (method) =>
        method === 'roots/list' ? { roots } : { action: 'accept', role: 'assistant', content: { a: 1 }, model: 'm' },
    },
  );
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { a: { type: 'number' } } } };
  const visit = { message: 'Go', url: 'https://example.com', elicitationId: '1' };
  expect(await ctx.elicit(form)).toMatchObject({ action: 'accept', content: { a: 1 } });
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

test('the caller and the signal are those of the exchange', () => {
  const { exchange, ctx } = setUp();
  expect(ctx.caller).toBe(exchange.caller);
  expect(ctx.exchange).toBe(exchange);
  exchange.abort();
  expect(ctx.signal.aborted).toBe(true);
});

test('a notification that is not delivered causes no unhandled rejection, and rejects if awaited', async () => {
  const rejections = unhandled();
  const lost = { onnotify: () => Promise.reject(new Error('lost')) };
  const { ctx } = setUp({ _meta: { progressToken: 1 } }, lost);
  void ctx.log('info', 'x');
  void ctx.progress(1);
  expect(await rejections()).toEqual([]);
  await expect(ctx.log('info', 'x')).rejects.toThrow('lost');
  await expect(ctx.progress(2)).rejects.toThrow('lost');
});

test("the context has the caller's auth and the request headers", () => {
  const auth = { principal: 'ada', scopes: ['read'] };
  const { ctx } = setUp({}, { caller: { auth }, headers: { 'x-tenant': 'blue' } });
  expect(ctx.auth).toBe(auth);
  expect(ctx.header('X-Tenant')).toBe('blue');
  expect(ctx.header('x-other')).toBeUndefined();
  expect(setUp().ctx.auth).toBeUndefined();
  expect(setUp().ctx.header('x-tenant')).toBeUndefined();
});

test.each<[CallerFeature, JsonObject, JsonObject]>([
  ['elicitation', { elicitation: {} }, { elicitation: { url: {} } }],
  ['elicitation.url', { elicitation: { url: {} } }, { elicitation: {} }],
  ['sampling', { sampling: {} }, {}],
  ['sampling.tools', { sampling: { tools: {} } }, { sampling: {} }],
  ['roots', { roots: {} }, {}],
])('ctx.can knows if a caller supports %s', (feature, enough, little) => {
  const can = (capabilities: JsonObject, revision: Revision) =>
    setUp({}, { caller: { capabilities, revision } }).ctx.can(feature);
  expect(can(enough, '2025-11-25')).toBe(true);
  expect(can(enough, '2026-07-28')).toBe(true);
  expect(can(little, '2026-07-28')).toBe(false);
  expect(can(enough, '2024-11-05')).toBe(feature === 'sampling' || feature === 'roots');
});

test('every question passes on its key and its signal', async () => {
  const asked: unknown[] = [];
  const { exchange, ctx } = setUp();
  exchange.ask = (method, _params, options) => {
    asked.push([method, options]);
    return Promise.resolve({ action: 'decline', content: [], roots: [] });
  };
  const options = { key: 'k', signal: new AbortController().signal };
  await ctx.elicit({ message: 'm', schema: z.object({}) }, options);
  await ctx.elicitUrl({ message: 'm', url: 'https://example.com' }, options);
  await ctx.sample({ messages: [], maxTokens: 1 }, options);
  await ctx.roots(options);
  expect(asked).toEqual([
    ['elicitation/create', options],
    ['elicitation/create', options],
    ['sampling/createMessage', options],
    ['roots/list', options],
  ]);
});

describe('a form', () => {
  const answering = (answer: JsonObject) => setUp({}, { onask: () => answer });
  const schema = z.object({
    name: z.string().min(2),
    days: z.int().max(60).default(14),
    by: z.enum(['post', 'desk']).optional(),
  });

  test('of a Standard Schema returns its parsed answer', async () => {
    const { exchange, ctx } = answering({ action: 'accept', content: { name: 'Ada' }, _meta: { a: 1 } });
    const answer = await ctx.elicit({ message: 'Who?', schema });
    expect(answer).toStrictEqual({ action: 'accept', content: { name: 'Ada', days: 14 }, _meta: { a: 1 } });
    expect(exchange.asked[0]!.params).toStrictEqual({
      message: 'Who?',
      requestedSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', minLength: 2 },
          days: { type: 'integer', maximum: 60, default: 14 },
          by: { type: 'string', enum: ['post', 'desk'] },
        },
        required: ['name'],
      },
    });
    if (answer.action === 'accept') {
      expectTypeOf(answer.content).toEqualTypeOf<{ name: string; days: number; by?: 'post' | 'desk' | undefined }>();
    } else {
      expectTypeOf(answer.content).toEqualTypeOf<undefined>();
    }
  });

  test('of a JSON Schema literal is typed by it', async () => {
    const { ctx } = answering({ action: 'accept', content: { size: 's', tags: ['x'] } });
    const answer = await ctx.elicit({
      message: 'Which?',
      requestedSchema: {
        type: 'object',
        properties: {
          size: {
            type: 'string',
            oneOf: [
              { const: 's', title: 'Small' },
              { const: 'l', title: 'Large' },
            ],
          },
          tags: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
          note: { type: 'string' },
        },
        required: ['size'],
      },
    });
    expect(answer.content).toEqual({ size: 's', tags: ['x'] });
    if (answer.action !== 'accept') return;
    expectTypeOf(answer.content).toEqualTypeOf<{ size: 's' | 'l'; tags?: ('x' | 'y')[]; note?: string }>();
  });

  test.each([
    [{ name: 'A' }, 'name: '],
    [{ name: 'Ada', days: 61 }, 'days: '],
    [{ name: 5 }, 'name: '],
    [{}, 'name: '],
    [undefined, 'name: '],
    ['Ada', 'does not match the form'],
  ])('filled in with %j is an invalid answer', async (content, message) => {
    const { ctx } = answering({ action: 'accept', content });
    const answer = ctx.elicit({ message: 'Who?', schema });
    await expect(answer).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) });
  });

  test.each(['decline', 'cancel'])('that is answered with %s is not validated', async (action) => {
    const { ctx } = answering({ action, content: { name: 5 } });
    expect(await ctx.elicit({ message: 'Who?', schema })).toStrictEqual({ action });
  });

  test.each([{}, { action: 'maybe' }, { action: 5 }])('%j is an invalid answer to a question', async (answer) => {
    const { ctx } = answering(answer);
    await expect(ctx.elicit({ message: 'Who?', schema })).rejects.toMatchObject({ code: -32602 });
    await expect(ctx.elicitUrl({ message: 'Go', url: 'https://example.com' })).rejects.toMatchObject({ code: -32602 });
  });

  test('that is not a valid form is refused before anything is sent', async () => {
    const { exchange, ctx } = answering({ action: 'accept' });
    for (const wrong of ['Who?', undefined, { message: 'Who?' }, { schema: z.object({}) }]) {
      await expect(ctx.elicit(wrong as never)).rejects.toThrow(
        new TypeError('elicit takes an object with the text and the form: { message, schema }'),
      );
    }
    // @ts-expect-error: no nested objects
    const nested = ctx.elicit({ message: 'Who?', schema: z.object({ deep: z.object({}) }) });
    await expect(nested).rejects.toThrow(
      new TypeError(
        'Form property deep is an object, but a form is flat: move the properties of the object into the form',
      ),
    );
    expect(exchange.asked).toEqual([]);
  });
});

describe('a URL elicitation', () => {
  const visit = { message: 'Go', url: 'https://example.com/a' };
  const go = async (revision: Revision, elicitationId?: string) => {
    const { exchange, ctx } = setUp(
      {},
      { caller: { revision }, onask: () => ({ action: 'accept', content: { a: 1 } }) },
    );
    const answer = await ctx.elicitUrl(elicitationId === undefined ? visit : { ...visit, elicitationId });
    expect(answer).toEqual({ action: 'accept' });
    return exchange.asked[0]!.params;
  };

  test('has an elicitationId in 2025-11-25, generated if none is given', async () => {
    expect(await go('2025-11-25', 'mine')).toEqual({ mode: 'url', ...visit, elicitationId: 'mine' });
    expect((await go('2025-11-25'))['elicitationId']).toMatch(/^[\da-f-]{36}$/);
  });

  test('has no elicitationId in 2026-07-28', async () => {
    expect(await go('2026-07-28', 'mine')).toStrictEqual({ mode: 'url', ...visit });
  });

  test('must have an absolute URL', async () => {
    const { exchange, ctx } = setUp();
    await expect(ctx.elicitUrl({ message: 'Go', url: 'example.com' })).rejects.toThrow(TypeError);
    expect(exchange.asked).toEqual([]);
  });
});

describe('sampling', () => {
  const messages = [{ role: 'user', content: { type: 'text', text: 'hi' } }] as const;
  const reply = { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'add', input: {} }], model: 'm' };

  test('with tools is sent unchanged, and its answer is typed', async () => {
    const { exchange, ctx } = setUp({}, { onask: () => reply });
    const params = {
      messages: [...messages],
      maxTokens: 10,
      tools: [{ name: 'add', inputSchema: { type: 'object' } }],
      toolChoice: { mode: 'required' as const },
    };
    const { content } = await ctx.sample(params);
    expect(exchange.asked).toEqual([{ method: 'sampling/createMessage', params }]);
    for (const block of Array.isArray(content) ? content : [content]) {
      if (block.type === 'tool_use') expectTypeOf(block.input).toEqualTypeOf<JsonObject>();
    }
    expect(content).toEqual(reply.content);
  });

  test('that breaks the rules is refused before anything is sent', async () => {
    const { exchange, ctx } = setUp({}, { onask: () => reply });
    const result = { type: 'tool_result' as const, toolUseId: '1', content: [] };
    const sampled = ctx.sample({ messages: [{ role: 'user', content: result }], maxTokens: 1 });
    await expect(sampled).rejects.toThrow(TypeError);
    expect(exchange.asked).toEqual([]);
  });

  const withContext = async (revision: Revision, sampling: JsonObject, includeContext: 'none' | 'thisServer') => {
    const { exchange, ctx } = setUp({}, { caller: { revision, capabilities: { sampling } }, onask: () => reply });
    const outcome = await ctx.sample({ messages, maxTokens: 1, includeContext }).catch((error: unknown) => error);
    return { outcome, asked: exchange.asked.length };
  };

  test.each<[Revision, JsonObject]>([
    ['2025-06-18', {}],
    ['2025-11-25', { context: {} }],
    ['2026-07-28', { context: {} }],
  ])('with includeContext is sent in %s to a caller that has %j', async (revision, sampling) => {
    expect(await withContext(revision, sampling, 'thisServer')).toEqual({ outcome: reply, asked: 1 });
  });

  test.each<[Revision, number]>([
    ['2025-11-25', -32601],
    ['2026-07-28', -32021],
  ])('with includeContext is not sent in %s to a caller without the capability', async (revision, code) => {
    const message = expect.stringContaining('sampling.context');
    expect(await withContext(revision, {}, 'thisServer')).toMatchObject({ outcome: { code, message }, asked: 0 });
    expect(await withContext(revision, {}, 'none')).toMatchObject({ asked: 1 });
  });

  test('without content is an invalid answer', async () => {
    const { ctx } = setUp({}, { onask: () => ({ role: 'assistant', model: 'm' }) });
    await expect(ctx.sample({ messages, maxTokens: 1 })).rejects.toMatchObject({ code: -32602 });
  });
});
