import { describe, expect, expectTypeOf, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { Revision } from '../protocol/revisions.ts';
import { McpServer } from './mcp-server.ts';
import { UserError } from './user-error.ts';

function setUp() {
  const server = new McpServer({ name: 'test', version: '1' });
  const read = (uri: unknown, revision: Revision = '2025-11-25') =>
    server.service(new TestExchange('resources/read', { uri }, { caller: { revision } }));
  const list = (method: string, cursor?: string) =>
    server.service(new TestExchange(method, cursor === undefined ? {} : { cursor }));
  return { server, read, list };
}

const rejected = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('should reject'),
    (error: unknown) => (error as RpcError).toObject(),
  );

describe('a resource can return', () => {
  const uri = 'a://1';
  test.each([
    ['text', 'hi', { contents: [{ uri, mimeType: 'text/plain', text: 'hi' }] }],
    ['empty text', '', { contents: [{ uri, mimeType: 'text/plain', text: '' }] }],
    ['bytes', new Uint8Array([1, 2, 3]).subarray(1), { contents: [{ uri, mimeType: 'text/plain', blob: 'AgM=' }] }],
    ['contents', { uri: 'a://2', text: 'x' }, { contents: [{ uri: 'a://2', text: 'x' }] }],
    ['several contents', [{ uri, blob: '' }], { contents: [{ uri, blob: '' }] }],
    ['a complete result', { contents: [], _meta: { a: 1 } }, { contents: [], _meta: { a: 1 } }],
  ])('%s', async (_, reply, expected) => {
    const { server, read } = setUp();
    server.resource(uri, { name: 'one', mimeType: 'text/plain' }, () => reply);
    server.resourceTemplate('{+any}', { name: 'any', mimeType: 'text/plain' }, async () => reply);
    expect(await read(uri)).toEqual(expected);
    expect(await read('other')).toMatchObject({
      contents: expected.contents.map(({ uri: from, ...rest }) => ({
        uri: from === uri && !Array.isArray(reply) ? 'other' : from,
        ...rest,
      })),
    });
  });

  test('contents without a MIME type', async () => {
    const { server, read } = setUp();
    server.resource(uri, { name: 'one' }, () => 'x');
    expect(await read(uri)).toEqual({ contents: [{ uri, text: 'x' }] });
  });

  test('no other value: that is an internal error', async () => {
    const { server, read } = setUp();
    server.resource(uri, { name: 'one' }, () => 7 as unknown as string);
    await expect(read(uri)).rejects.toMatchObject({
      cause: { message: expect.stringContaining(`the handler of resource ${uri} returned neither`) },
    });
  });
});

describe('a missing resource', () => {
  test.each<[Revision, number]>([
    ['2024-11-05', -32002],
    ['2025-03-26', -32002],
    ['2025-06-18', -32002],
    ['2025-11-25', -32002],
    ['2026-07-28', -32602],
  ])('has the error code of %s', async (revision, code) => {
    const { server, read } = setUp();
    const uri = 'a://gone';
    const error = { code, message: `Resource not found: ${uri}`, data: { uri } };
    expect(await rejected(read(uri, revision))).toEqual(error);
    server.resourceTemplate('a://{id}', { name: 'a' }, () => undefined);
    expect(await rejected(read(uri, revision))).toEqual(error);
  });
});

test('a UserError of a resource is an error of the request', async () => {
  const { server, read } = setUp();
  const handler = () => {
    throw new UserError('id is a number');
  };
  server.resource('b://1', { name: 'b' }, handler);
  server.resourceTemplate('a://{id}', { name: 'a' }, async () => handler());
  for (const uri of ['a://x', 'b://1'])
    expect(await rejected(read(uri))).toEqual({ code: -32602, message: 'id is a number' });
});

test('a malformed request is refused', async () => {
  const { server, read } = setUp();
  server.resourceTemplate('a://{id}', { name: 'a' }, () => 'x');
  expect(await rejected(read(7))).toMatchObject({ code: -32602 });
  expect(await rejected(read('a://%'))).toMatchObject({ code: -32602, data: { uri: 'a://%' } });
});

test('a fixed resource is preferred to a template, and templates are tried in order', async () => {
  const { server, read } = setUp();
  server.resourceTemplate('a://{id}', { name: 'first' }, ({ id }) => `first ${id}`);
  server.resourceTemplate('a://{+id}', { name: 'second' }, ({ id }, _ctx, uri) => `second ${id} ${uri}`);
  server.resource('a://fixed', { name: 'fixed' }, (uri) => `fixed ${uri}`);
  expect(await read('a://fixed')).toMatchObject({ contents: [{ text: 'fixed a://fixed' }] });
  expect(await read('a://1')).toMatchObject({ contents: [{ text: 'first 1' }] });
  expect(await read('a://1/2')).toMatchObject({ contents: [{ text: 'second 1/2 a://1/2' }] });
});

describe('lists', () => {
  test('contain only the given fields', async () => {
    const { server, list } = setUp();
    const about = { name: 'one', title: 'One', size: 3, annotations: { priority: 1 }, _meta: { x: 1 } };
    server.resource('a://1', { ...about, description: undefined }, () => 'x');
    server.resourceTemplate('a://{id}', { name: 'a', complete: { id: ['x'] } }, () => 'x');
    expect(await list('resources/list')).toStrictEqual({ resources: [{ uri: 'a://1', ...about }] });
    expect(await list('resources/templates/list')).toStrictEqual({
      resourceTemplates: [{ uriTemplate: 'a://{id}', name: 'a' }],
    });
  });

  test('give the resources of a template what only the template says', async () => {
    const { server, list } = setUp();
    const about = { title: 'An a', description: 'An a of many', mimeType: 'text/plain', annotations: { priority: 1 } };
    const own = { uri: 'a://2', name: 'two', mimeType: 'text/html' };
    server.resourceTemplate(
      'a://{id}',
      { name: 'a', ...about, ttlMs: 1, scopes: ['a'], list: () => [{ uri: 'a://1', name: 'one' }, own] },
      () => 'x',
    );
    expect(await list('resources/list')).toStrictEqual({
      resources: [
        { uri: 'a://1', name: 'one', ...about },
        { ...about, ...own },
      ],
    });
  });

  test('have the resources of a template after the fixed ones, page by page', async () => {
    const server = new McpServer({ name: 'test', version: '1', pageSize: 2 });
    server.resourceTemplate(
      'a://{id}',
      { name: 'a', list: () => [1, 2].map((id) => ({ uri: `a://${id}`, name: `a${id}` })) },
      () => 'x',
    );
    server.resourceTemplate(
      'b://{id}',
      { name: 'b', list: async (ctx) => [{ uri: `b://${ctx.caller.revision}`, name: 'b' }] },
      () => 'x',
    );
    server.resource('f://1', { name: 'f' }, () => 'x');
    const names: string[][] = [];
    let cursor: string | undefined;
    do {
      const { resources, nextCursor } = await server.service(new TestExchange('resources/list', { cursor }));
      names.push(resources.map(({ uri }: { uri: string }) => uri));
      cursor = nextCursor;
    } while (cursor !== undefined);
    expect(names).toEqual([
      ['f://1', 'a://1'],
      ['a://2', 'b://2025-11-25'],
    ]);
  });
});

test('variables are typed, and only they can be completed', () => {
  const { server } = setUp();
  server.resourceTemplate('db://{table}{?limit}', { name: 'db' }, (variables) => {
    expectTypeOf(variables.table).toEqualTypeOf<string>();
    expectTypeOf(variables.limit).toEqualTypeOf<string | undefined>();
    return undefined;
  });
  // @ts-expect-error: there is no such variable
  expect(() => server.resourceTemplate('x://{a}', { name: 'x', complete: { b: [] } }, () => 'x')).toThrow(
    'has no variable b',
  );
});
