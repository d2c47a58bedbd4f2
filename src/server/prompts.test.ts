import { describe, expect, expectTypeOf, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { McpServer } from './mcp-server.ts';
import { UserError } from './user-error.ts';

function setUp() {
  const server = new McpServer({ name: 'test', version: '1' });
  const get = (name: unknown, args?: unknown) =>
    server.service(new TestExchange('prompts/get', { name, arguments: args }));
  return { server, get };
}

const message = { role: 'assistant' as const, content: { type: 'text' as const, text: 'hi' } };

describe('a prompt can return', () => {
  test.each([
    ['a string', 'hi', { description: 'about', messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] }],
    ['messages', [message], { description: 'about', messages: [message] }],
    ['a complete result', { messages: [], _meta: { a: 1 } }, { messages: [], _meta: { a: 1 } }],
  ])('%s', async (_, reply, expected) => {
    const { server, get } = setUp();
    server.prompt('p', { description: 'about' }, async () => reply);
    expect(await get('p')).toStrictEqual(expected);
  });

  test('a result without a description', async () => {
    const { server, get } = setUp();
    server.prompt('p', {}, () => [message]);
    expect(await get('p')).toStrictEqual({ messages: [message] });
  });

  test('no other value: that is an internal error', async () => {
    const { server, get } = setUp();
    server.prompt('p', {}, () => 7 as unknown as string);
    await expect(get('p')).rejects.toMatchObject({
      cause: { message: expect.stringContaining('the handler of prompt p returned neither') },
    });
  });
});

test('unknown prompts, missing and malformed arguments are refused', async () => {
  const { server, get } = setUp();
  server.prompt('p', { arguments: { name: { required: true }, style: {} } }, ({ name }) => name);
  const refuse = (why: string) => expect.objectContaining({ code: -32602, message: why });
  await expect(get('x')).rejects.toEqual(refuse('Unknown prompt: x'));
  await expect(get(1)).rejects.toEqual(refuse('"name" must be a string'));
  await expect(get('p')).rejects.toEqual(refuse('Prompt p needs the argument name'));
  await expect(get('p', { style: 'x' })).rejects.toEqual(refuse('Prompt p needs the argument name'));
  await expect(get('p', { name: 1 })).rejects.toEqual(refuse('Argument name of prompt p must be a string'));
  await expect(get('p', 'x')).rejects.toEqual(refuse('"arguments" must be an object'));
  expect(await get('p', { name: 'Ada' })).toMatchObject({ messages: [{ content: { text: 'Ada' } }] });
});

test.each([
  ['throws', () => Promise.reject(new UserError('style is one of: long, short'))],
  [
    'throws at once',
    () => {
      throw new UserError('style is one of: long, short');
    },
  ],
])('a UserError that a prompt %s is an error of its arguments', async (_, handler) => {
  const { server, get } = setUp();
  server.prompt('p', { arguments: { style: {} } }, handler);
  await expect(get('p')).rejects.toMatchObject({ code: -32602, message: 'style is one of: long, short' });
});

test('the list contains only the given fields', async () => {
  const { server } = setUp();
  const style = { title: 'Style', description: 'how', complete: ['a'] };
  server.prompt('p', { title: 'P', arguments: { name: { required: true }, style } }, () => 'x');
  server.prompt('bare', {}, () => 'x');
  expect(await server.service(new TestExchange('prompts/list'))).toStrictEqual({
    prompts: [
      {
        name: 'p',
        title: 'P',
        arguments: [
          { name: 'name', required: true },
          { name: 'style', title: 'Style', description: 'how' },
        ],
      },
      { name: 'bare' },
    ],
  });
});

test('arguments have a type that depends on whether they are required', () => {
  const { server } = setUp();
  server.prompt(
    'p',
    { arguments: { name: { required: true }, style: { complete: ['a'] }, on: { required: false } } },
    (args) => {
      expectTypeOf(args.name).toEqualTypeOf<string>();
      expectTypeOf(args.style).toEqualTypeOf<string | undefined>();
      expectTypeOf(args.on).toEqualTypeOf<string | undefined>();
      return 'x';
    },
  );
});
