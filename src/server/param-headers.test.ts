import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { encodeHeaderValue } from '../protocol/header-value.ts';
import { McpServer } from './mcp-server.ts';

const named = (type: unknown, header: unknown): JsonObject => ({ type, 'x-mcp-header': header });

describe('an input schema that breaks the rules on x-mcp-header is refused', () => {
  const region = named('string', 'Region');
  test.each<[string, JsonObject, string]>([
    ['empty', { a: named('string', '') }, 'properties.a must be a header name'],
    ['a value that is not a string', { a: named('string', 5) }, 'properties.a must be a header name'],
    ['a space', { a: named('string', 'My Region') }, 'properties.a must be a header name'],
    ['a colon', { a: named('string', 'Region:') }, 'properties.a must be a header name'],
    ['a line feed', { a: named('string', 'Region\n') }, 'properties.a must be a header name'],
    ['a letter beyond ASCII', { a: named('string', 'Région') }, 'properties.a must be a header name'],
    ['twice', { a: region, b: region }, 'properties.b is already used by properties.a'],
    [
      'the same name in another case',
      { a: region, b: named('string', 'REGION') },
      'properties.b is already used by properties.a',
    ],
    ['a number', { a: named('number', 'A') }, 'properties.a must be on a property of type'],
    ['an object', { a: named('object', 'A') }, 'properties.a must be on a property of type'],
    ['an array', { a: named('array', 'A') }, 'properties.a must be on a property of type'],
    ['null', { a: named('null', 'A') }, 'properties.a must be on a property of type'],
    ['two types', { a: named(['string', 'null'], 'A') }, 'properties.a must be on a property of type'],
    ['no type', { a: { 'x-mcp-header': 'A' } }, 'properties.a must be on a property of type'],
    ['in a list', { a: { type: 'array', items: region } }, 'properties.a.items must be on a property that'],
    ['inside oneOf', { a: { oneOf: [region] } }, 'properties.a.oneOf.0 must be on a property that'],
    ['inside a nested schema', { a: { properties: { b: { not: region } } } }, 'properties.a.properties.b.not must be'],
  ])('with this mistake: %s', (_, properties, message) => {
    const server = new McpServer({ name: 'test', version: '1' });
    expect(() => server.tool('t', { input: { type: 'object', properties } }, () => 1)).toThrow(TypeError);
    expect(() => server.tool('t', { input: { type: 'object', properties } }, () => 1)).toThrow(
      `Tool t: x-mcp-header of ${message}`,
    );
  });

  test('if a keyword other than "properties" leads to the header', () => {
    const server = new McpServer({ name: 'test', version: '1' });
    for (const keyword of ['$defs', 'patternProperties', 'dependentSchemas']) {
      const input = { type: 'object', [keyword]: { a: { properties: { b: region } } } };
      expect(() => server.tool('t', { input }, () => 1)).toThrow(`${keyword}.a.properties.b must be`);
    }
    expect(() => server.tool('t', { input: { type: 'object', 'x-mcp-header': 'A' } }, () => 1)).toThrow(
      'the input schema must be',
    );
  });
});

describe('a tools/call over HTTP', () => {
  const properties = {
    region: named('string', 'Region'),
    count: named('integer', 'Count'),
    dry: named('boolean', 'Dry'),
    at: { type: 'object', properties: { zone: named('string', 'zone') } },
    'x-mcp-header': { type: 'string' },
  };
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('plain', { input: { type: 'object', properties } }, () => 'done');
  server.tool('zod', { input: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }) }, () => 'done');

  const call = (args: JsonObject, options: TestExchangeOptions, name = 'plain') =>
    server.service(
      new TestExchange('tools/call', { name, arguments: args }, { caller: { revision: '2026-07-28' }, ...options }),
    );
  const done = { content: [{ type: 'text', text: 'done' }] };

  test.each<[string, JsonObject, Record<string, string>]>([
    ['the same string', { region: 'eu' }, { region: 'eu' }],
    ['the empty string', { region: '' }, { region: '' }],
    ['an encoded string', { region: 'Zürich ' }, { region: encodeHeaderValue('Zürich ') }],
    ['a string that is encoded needlessly', { region: 'Hello' }, { region: '=?base64?SGVsbG8=?=' }],
    ['a string that looks half encoded', { region: '=?base64?SGVsbG8=' }, { region: '=?base64?SGVsbG8=' }],
    ['an integer', { count: -7 }, { count: '-7' }],
    ['an integer in another notation', { count: 42 }, { count: '42.0' }],
    ['a boolean', { dry: false }, { dry: 'false' }],
    ['a nested argument', { at: { zone: 'a' } }, { zone: 'a' }],
    ['an absent argument', {}, {}],
    ['an argument without a header', { 'x-mcp-header': 'x' }, {}],
  ])('is run if its headers have %s', async (_, args, headerValues) => {
    const headers = Object.fromEntries(
      Object.entries(headerValues).map(([name, value]) => [`mcp-param-${name}`, value]),
    );
    expect(await call(args, { headers })).toEqual(done);
  });

  test('may omit null', async () => {
    const error = await call({ region: null }, { headers: {} });
    // Not a string, but the schema checks that.
    expect(error).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('region') }] });
  });

  test.each<[string, JsonObject, Record<string, string>, string]>([
    [
      'no value for an argument',
      { region: 'eu' },
      {},
      'Mcp-Param-Region is missing; it must repeat the argument region',
    ],
    ['a different string', { region: 'eu' }, { region: 'us' }, 'Mcp-Param-Region does not match the argument region'],
    ['a different case', { region: 'eu' }, { region: 'EU' }, 'Mcp-Param-Region does not match the argument region'],
    ['a different number', { count: 42 }, { count: '43' }, 'Mcp-Param-Count does not match the argument count'],
    ['a hexadecimal number', { count: 16 }, { count: '0x10' }, 'Mcp-Param-Count does not match the argument count'],
    ['text for a number', { count: 0 }, { count: '' }, 'Mcp-Param-Count does not match the argument count'],
    ['a different boolean', { dry: true }, { dry: 'TRUE' }, 'Mcp-Param-Dry does not match the argument dry'],
    ['wrong padding', { region: 'Hello' }, { region: '=?base64?SGVsbG8?=' }, 'Mcp-Param-Region is malformed'],
    ['invalid Base64', { region: 'Hello' }, { region: '=?base64?SGVs!!!bG8=?=' }, 'Mcp-Param-Region is malformed'],
    ['raw bytes', { region: 'Zürich' }, { region: 'Zürich' }, 'Mcp-Param-Region is malformed'],
    [
      'a value for an absent argument',
      {},
      { region: 'eu' },
      'Mcp-Param-Region was sent, but the argument region was not',
    ],
    [
      'a value for a null argument',
      { region: null },
      { region: 'null' },
      'Mcp-Param-Region was sent, but the argument region was not',
    ],
    [
      'a value for an absent nested argument',
      { at: {} },
      { zone: 'a' },
      'Mcp-Param-zone was sent, but the argument at.zone',
    ],
    [
      'a value for an inherited property',
      { at: Object.create({ zone: 'a' }) },
      { zone: 'a' },
      'Mcp-Param-zone was sent',
    ],
    ['a value for a list', { region: ['eu'] }, { region: 'eu' }, 'Mcp-Param-Region does not match the argument region'],
    ['an integer beyond 2^53', { count: 2 ** 53 }, { count: '9007199254740993' }, 'is not a safe integer'],
  ])('is refused if its headers have %s', async (_, args, headerValues, message) => {
    const headers = Object.fromEntries(
      Object.entries(headerValues).map(([name, value]) => [`mcp-param-${name}`, value]),
    );
    await expect(call(args, { headers })).rejects.toMatchObject({
      code: -32020,
      message: expect.stringContaining(`Header mismatch: `),
    });
    await expect(call(args, { headers })).rejects.toThrow(message);
  });

  test('is checked in the same way with a Zod schema', async () => {
    await expect(call({ region: 'eu' }, { headers: {} }, 'zod')).rejects.toMatchObject({ code: -32020 });
    expect(await call({ region: 'eu' }, { headers: { 'mcp-param-region': 'eu' } }, 'zod')).toEqual(done);
    const { tools } = await server.service(new TestExchange('tools/list'));
    expect(tools).toMatchObject([{}, { inputSchema: { properties: { region: { 'x-mcp-header': 'Region' } } } }]);
  });

  test('is not checked in an earlier revision, or over another transport', async () => {
    expect(await call({ region: 'eu' }, { headers: {}, caller: { revision: '2025-11-25' } })).toEqual(done);
    expect(await call({ region: 'eu' }, {})).toEqual(done);
  });
});

test('is refused with status 400 over real HTTP', async () => {
  const server = new McpServer({ name: 'test', version: '1' });
  const input = { type: 'object', properties: { region: named('string', 'Region') } };
  server.tool('t', { input }, (_, ctx) => ctx.header('Mcp-Param-Region') ?? 'none');
  const post = async (headers: Record<string, string>) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { name: 't', arguments: { region: 'Zürich' }, _meta: meta };
    const response = await server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 't',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      }),
    );
    return [response.status, await response.json()];
  };
  const region = encodeHeaderValue('Zürich');
  expect(await post({})).toMatchObject([400, { error: { code: -32020 } }]);
  expect(await post({ 'mcp-param-region': 'Bern' })).toMatchObject([400, { error: { code: -32020 } }]);
  expect(await post({ 'mcp-param-region': region })).toMatchObject([200, { result: { content: [{ text: region }] } }]);
  await server.close();
});
