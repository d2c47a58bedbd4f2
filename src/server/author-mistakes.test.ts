import { describe, expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from './mcp-server.ts';

// In plain JavaScript, no types prevent these mistakes. The author reads them in `onerror`, and the caller does not.

function setUp() {
  const errors: string[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: ({ message }) => void errors.push(message) });
  const ask = (method: string, params: JsonObject) => server.service(new TestExchange(method, params));
  return { server, ask, errors };
}

const returns = (reply: unknown) => () => reply as never;
const text = { type: 'text', text: 'x' };

describe('the author of a tool reads that', () => {
  const output = { type: 'object', properties: {} } as const;
  const nested = { type: 'object', properties: { who: { type: 'object', properties: {} } } };
  test.each<[string, unknown, string]>([
    ['a block is text', { content: ['x'] }, "content[0] must be content, such as { type: 'text', text: '…' }"],
    ['a block has no type', { content: [{ text: 'x' }] }, 'content[0] must be content, such as'],
    [
      'the text has another name',
      { content: [text, { type: 'text', value: 'x' }] },
      'content[1].text must be a string',
    ],
    ['a block alone has no text', { type: 'text' }, 'content[0].text must be a string'],
    ['an image has no type', [{ type: 'image', data: 'AA==' }], 'content[0].mimeType must be a string'],
    ['audio has no data', [{ type: 'audio', mimeType: 'a/b' }], 'the data of audio content must be base64'],
    ['a link has no name', [{ type: 'resource_link', uri: 'a://b' }], 'content[0].name must be a string'],
    [
      'a resource has no contents',
      [{ type: 'resource', resource: { uri: 'a://b' } }],
      'content[0].resource must have a string "uri", and a string "text" or "blob" (base64)',
    ],
  ])('%s', async (_, reply, why) => {
    const { server, ask, errors } = setUp();
    server.tool('t', {}, returns(reply));
    const masked = { content: [{ type: 'text', text: 'Tool t failed with an internal error' }], isError: true };
    expect(await ask('tools/call', { name: 't' })).toEqual(masked);
    expect(errors).toEqual([expect.stringContaining(`Tool t failed: ${why}`)]);
  });

  test('content beside structured content is wrong', async () => {
    const { server, ask, errors } = setUp();
    server.tool('t', { output }, returns({ content: ['x'], structuredContent: {} }));
    await ask('tools/call', { name: 't' });
    expect(errors).toEqual([expect.stringContaining('content[0] must be content')]);
  });

  test('a form is nested', async () => {
    const { server, ask, errors } = setUp();
    server.tool('t', {}, async (_, ctx) => {
      await ctx.elicit({ message: 'Who?', schema: nested });
    });
    await ask('tools/call', { name: 't' });
    expect(errors).toEqual([
      'Tool t failed: Form property who is an object, but a form is flat: move the properties of the object into the form',
    ]);
  });

  test('content of a type that is not known is passed on', async () => {
    const { server, ask } = setUp();
    const content = [{ type: 'hologram', depth: 3 }];
    server.tool('t', {}, returns({ content }));
    expect(await ask('tools/call', { name: 't' })).toEqual({ content });
  });
});

test.each<[string, unknown, string]>([
  ['messages are text', ['x'], "messages[0].role must be 'user' or 'assistant'"],
  ['content is text', [{ role: 'user', content: 'x' }], 'messages[0].content must be content, such as'],
  [
    'content has no text',
    { messages: [{ role: 'user', content: { type: 'text' } }] },
    'messages[0].content.text must be',
  ],
])('the author of a prompt reads that %s', async (_, reply, why) => {
  const { server, ask, errors } = setUp();
  server.prompt('p', {}, returns(reply));
  await expect(ask('prompts/get', { name: 'p' })).rejects.toThrow('prompts/get failed with an internal error');
  expect(errors).toEqual([expect.stringContaining(`prompts/get failed: ${why}`)]);
});

test.each<[string, unknown]>([
  ['a list of texts', ['x']],
  ['contents without a URI', { contents: [{ text: 'x' }] }],
  ['contents with a number', [{ uri: 'a://b', text: 5 }]],
])('the author of a resource reads that it returns %s', async (_, reply) => {
  const { server, ask, errors } = setUp();
  server.resource('a://b', { name: 'r' }, returns(reply));
  await expect(ask('resources/read', { uri: 'a://b' })).rejects.toThrow('failed with an internal error');
  expect(errors).toEqual([
    'resources/read failed: contents[0] must have a string "uri", and a string "text" or "blob" (base64)',
  ]);
});

test('the author of a template reads that its list must return a list', async () => {
  const { server, ask, errors } = setUp();
  server.resourceTemplate('a://{b}', { name: 'r', list: returns({ resources: [] }) }, () => 'x');
  await expect(ask('resources/list', {})).rejects.toThrow('failed with an internal error');
  expect(errors).toEqual(['resources/list failed: list of a resource template must return a list of resources']);
});

test('the author of a completer reads that it must return a list', async () => {
  const { server, ask, errors } = setUp();
  server.prompt('p', { arguments: { a: { complete: returns({ values: [] }) } } }, () => 'x');
  const params = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } };
  await expect(ask('completion/complete', params)).rejects.toThrow('failed with an internal error');
  expect(errors).toEqual(['completion/complete failed: a completer must return a list of strings']);
});
