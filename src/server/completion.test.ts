import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from './mcp-server.ts';

function setUp() {
  const server = new McpServer({ name: 'test', version: '1' });
  const complete = (params: JsonObject) => server.service(new TestExchange('completion/complete', params));
  return { server, complete };
}

const prompt = { type: 'ref/prompt', name: 'p' };

test('a list is filtered by the typed text, and a function is called', async () => {
  const { server, complete } = setUp();
  server.prompt('p', { arguments: { style: { complete: ['friendly', 'formal', 'casual'] }, other: {} } }, () => 'x');
  server.resourceTemplate(
    'a://{x}/{y}',
    { name: 'a', complete: { y: async (value, { arguments: { x } }) => [`${x}-${value}`] } },
    () => 'x',
  );
  server.resource('a://fixed', { name: 'fixed' }, () => 'x');
  const none = { completion: { values: [], total: 0, hasMore: false } };

  expect(await complete({ ref: prompt, argument: { name: 'style', value: 'f' } })).toEqual({
    completion: { values: ['friendly', 'formal'], total: 2, hasMore: false },
  });
  expect(await complete({ ref: prompt, argument: { name: 'other', value: '' } })).toEqual(none);
  expect(await complete({ ref: prompt, argument: { name: 'constructor', value: '' } })).toEqual(none);
  expect(
    await complete({
      ref: { type: 'ref/resource', uri: 'a://{x}/{y}' },
      argument: { name: 'y', value: '2' },
      context: { arguments: { x: '1' } },
    }),
  ).toEqual({ completion: { values: ['1-2'], total: 1, hasMore: false } });
  expect(
    await complete({ ref: { type: 'ref/resource', uri: 'a://fixed' }, argument: { name: 'y', value: '' } }),
  ).toEqual(none);
});

test('at most 100 values are sent', async () => {
  const { server, complete } = setUp();
  const many = Array.from({ length: 101 }, (_, index) => `v${index}`);
  server.prompt('p', { arguments: { a: { complete: () => many } } }, () => 'x');
  expect(await complete({ ref: prompt, argument: { name: 'a', value: '' } })).toEqual({
    completion: { values: many.slice(0, 100), total: 101, hasMore: true },
  });
});

test('a completer gets the caller', async () => {
  const { server, complete } = setUp();
  server.prompt('p', { arguments: { a: { complete: (_, ctx) => [ctx.caller.revision] } } }, () => 'x');
  expect(await complete({ ref: prompt, argument: { name: 'a', value: '' } })).toMatchObject({
    completion: { values: ['2025-11-25'] },
  });
});

test.each([
  { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } },
  { ref: { type: 'ref/resource', uri: 'p' }, argument: { name: 'a', value: '' } },
  { ref: { type: 'ref/other', name: 'p' }, argument: { name: 'a', value: '' } },
  { ref: prompt, argument: { name: 'a' } },
  { ref: prompt },
  { argument: { name: 'a', value: '' } },
  { ref: prompt, argument: { name: 'a', value: '' }, context: { arguments: { b: 1 } } },
])('%j is refused', async (params) => {
  const { server, complete } = setUp();
  server.prompt('p', { arguments: { a: { complete: [] } } }, () => 'x');
  await expect(complete(params)).rejects.toMatchObject({ code: -32602 });
});

test('a server without completers does not have the method', async () => {
  const { server, complete } = setUp();
  server.prompt('p', { arguments: { a: {} } }, () => 'x');
  await expect(complete({ ref: prompt, argument: { name: 'a', value: '' } })).rejects.toMatchObject({ code: -32601 });
});

test.each([
  ['a prompt', prompt],
  ['a template', { type: 'ref/resource', uri: 'a://{x}' }],
])('the values for %s require the scopes of the prompt or the template', async (_, ref) => {
  const { server } = setUp();
  server.prompt('p', { scopes: ['s'], arguments: { x: { complete: ['secret'] } } }, () => 'x');
  server.resourceTemplate('a://{x}', { name: 'a', scopes: ['s'], complete: { x: ['secret'] } }, () => 'x');
  const complete = (scopes: string[]) =>
    server.service(
      new TestExchange(
        'completion/complete',
        { ref, argument: { name: 'x', value: '' } },
        { caller: { auth: { principal: 'ada', scopes } } },
      ),
    );
  await expect(complete([])).rejects.toMatchObject({ code: -32600 });
  expect(await complete(['s'])).toMatchObject({ completion: { values: ['secret'] } });
});

test('more than 1,000 context arguments are refused', async () => {
  const { server, complete } = setUp();
  server.prompt('p', { arguments: { a: { complete: [] } } }, () => 'x');
  const given = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`a${index}`, '']));
  await expect(
    complete({ ref: prompt, argument: { name: 'a', value: '' }, context: { arguments: given } }),
  ).rejects.toMatchObject({ code: -32602, message: '"context.arguments" must not have more than 1000 members' });
});
