import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { TestExchange } from '../../test/support/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from './mcp-server.ts';
import type { StandardSchema } from './schema.ts';
import { errorsForCallers } from './handler-errors.ts';
import { LazyTasks } from './lazy-tasks.ts';
import { Tools, type ToolConfig, type ToolReply } from './tools.ts';
import { UserError } from './user-error.ts';

function setUp() {
  const errors: Error[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: (error) => errors.push(error) });
  const call = (name: unknown, args?: unknown) =>
    server.service(new TestExchange('tools/call', args === undefined ? { name } : { name, arguments: args }));
  const list = async () => (await server.service(new TestExchange('tools/list')))['tools'] as JsonObject[];
  return { server, call, list, errors };
}

const numbers = {
  type: 'object',
  properties: { a: { type: 'integer' }, b: { type: 'integer' } },
  required: ['a', 'b'],
} as const;
const result = { type: 'object', properties: { result: { type: 'integer' } }, required: ['result'] } as const;

describe('a tool without an output schema can return', () => {
  const block = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const;
  const whole = { content: [], isError: true, _meta: { a: 1 } };
  test.each([
    ['a string', 'hi', { content: [{ type: 'text', text: 'hi' }] }],
    ['an empty string', '', { content: [{ type: 'text', text: '' }] }],
    ['a number', 0.5, { content: [{ type: 'text', text: '0.5' }] }],
    ['a boolean', false, { content: [{ type: 'text', text: 'false' }] }],
    ['nothing', undefined, { content: [] }],
    ['null', null, { content: [] }],
    ['a content block', block, { content: [block] }],
    ['blocks', [block, block], { content: [block, block] }],
    ['an empty list of blocks', [], { content: [] }],
    ['a complete result', whole, whole],
    ['an object', { a: [1] }, { content: [{ type: 'text', text: '{"a":[1]}' }] }],
    ['an array of values', [1, 'x'], { content: [{ type: 'text', text: '[1,"x"]' }] }],
    [
      'a question for the caller',
      { resultType: 'input_required', requestState: 's' },
      { resultType: 'input_required', requestState: 's' },
    ],
  ])('%s', async (_, reply, expected) => {
    const { server, call } = setUp();
    server.tool('sync', {}, () => reply as ToolReply<undefined>);
    server.tool('async', {}, async () => reply as ToolReply<undefined>);
    expect(await call('sync')).toEqual(expected);
    expect(await call('async')).toEqual(expected);
  });

  test('only values that JSON can represent: others are tool errors', async () => {
    const { server, call, errors } = setUp();
    server.tool('circle', {}, () => {
      const circle: JsonObject = {};
      return Object.assign(circle, { circle });
    });
    server.tool('function', {}, () => () => 1);
    expect(await call('circle')).toMatchObject({ isError: true });
    expect(await call('function')).toMatchObject({
      isError: true,
      content: [{ text: 'Tool function failed with an internal error' }],
    });
    expect(errors.at(-1)?.message).toBe('Tool function failed: a tool cannot return a function');
  });
});

describe('the result of a tool with an output schema', () => {
  test('is structured content, with its JSON as text', async () => {
    const { server, call } = setUp();
    server.tool('add', { input: numbers, output: result }, ({ a, b }) => ({ result: a + b }));
    expect(await call('add', { a: 2, b: 4 })).toEqual({
      content: [{ type: 'text', text: '{"result":6}' }],
      structuredContent: { result: 6 },
    });
  });

  test('can be a bare value, which becomes the property result and plain text', async () => {
    const { server, call } = setUp();
    server.tool('add', { input: numbers, output: result }, ({ a, b }) => a + b);
    expect(await call('add', { a: 2, b: 4 })).toEqual({
      content: [{ type: 'text', text: '6' }],
      structuredContent: { result: 6 },
    });
  });

  test('stays unchanged if it is a complete result', async () => {
    const { server, call } = setUp();
    const whole = {
      content: [{ type: 'text' as const, text: 'six' }],
      structuredContent: { result: 6 },
      _meta: { x: 1 },
    };
    server.tool('six', { output: result }, () => whole);
    expect(await call('six')).toBe(whole);
  });

  test('needs no structured content if it is a complete result with an error', async () => {
    const { server, call, errors } = setUp();
    server.tool('six', { output: result }, () => ({ content: [], isError: true }));
    expect(await call('six')).toEqual({ content: [], isError: true });
    expect(errors).toEqual([]);
  });

  test('can be a value with a property named content', async () => {
    const { server, call } = setUp();
    const output = {
      type: 'object',
      properties: { content: { type: 'array', items: { type: 'string' } } },
      required: ['content'],
    } as const;
    server.tool('read', { output }, () => ({ content: ['line'] }));
    expect(await call('read')).toMatchObject({ structuredContent: { content: ['line'] } });
  });

  test('can be an array if the schema is for an array', async () => {
    const { server, call } = setUp();
    server.tool('list', { output: { type: 'array', items: { type: 'string' } } }, () => ['a']);
    expect(await call('list')).toEqual({ content: [{ type: 'text', text: '["a"]' }], structuredContent: ['a'] });
  });

  test('is a tool error if it does not match the schema, and onerror gets the reason', async () => {
    const { server, call, errors } = setUp();
    server.tool('six', { output: result }, () => ({ result: 'six' }) as unknown as { result: number });
    const message = 'The result of tool six does not match its output schema: result: must be integer';
    expect(await call('six')).toEqual({ content: [{ type: 'text', text: message }], isError: true });
    expect(errors.map((error) => error.message)).toEqual([message]);
  });

  test('must not be undefined, even if the schema accepts that', async () => {
    const { server, call, errors } = setUp();
    server.tool('any', { output: z.any() }, () => undefined);
    expect(await call('any')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('the result has no value') }],
    });
    expect(errors).toHaveLength(1);
  });

  test('is the parsed value of a Standard Schema', async () => {
    const { server, call } = setUp();
    server.tool('six', { output: z.object({ result: z.number() }) }, () => {
      const reply = { result: 6, secret: 1 };
      return reply;
    });
    server.tool('whole', { output: z.object({ result: z.number() }) }, () => ({
      content: [],
      structuredContent: { result: 6, secret: 1 },
    }));
    expect(await call('six')).toMatchObject({ structuredContent: { result: 6 } });
    expect(await call('whole')).toEqual({ content: [], structuredContent: { result: 6 } });
  });
});

describe('errors of a tool', () => {
  const rejected = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable('should reject'),
      (error: unknown) => (error as RpcError).toObject(),
    );

  test('malformed requests and unknown tools are protocol errors', async () => {
    const { server, call } = setUp();
    server.tool('known', {}, () => 1);
    expect(await rejected(call('x'))).toEqual({ code: -32602, message: 'Unknown tool: x' });
    expect(await rejected(call('constructor'))).toEqual({ code: -32602, message: 'Unknown tool: constructor' });
    expect(await rejected(call(1))).toEqual({ code: -32602, message: '"name" must be a string' });
    expect(await rejected(call('known', []))).toEqual({ code: -32602, message: '"arguments" must be an object' });
  });

  test.each([
    [{ a: 1 }, 'b: is missing'],
    [{ a: 1, b: 'x' }, 'b: must be integer'],
    [{ a: 1, b: 1.5 }, 'b: must be integer'],
    [undefined, 'a: is missing'],
  ])('invalid arguments %j are a tool error that names the problem', async (args, problem) => {
    const { server, call } = setUp();
    server.tool('add', { input: numbers }, ({ a, b }) => a + b);
    expect(await call('add', args)).toEqual({
      content: [{ type: 'text', text: `Invalid arguments for tool add: ${problem}` }],
      isError: true,
    });
  });

  test('every argument that a Standard Schema refuses is named', async () => {
    const { server, call } = setUp();
    server.tool('add', { input: z.object({ a: z.number(), in: z.array(z.object({ b: z.string() })) }) }, () => 1);
    const { content } = await call('add', { a: 'x', in: [{ b: 1 }] });
    expect(content[0].text).toMatch(/^Invalid arguments for tool add: a: .*; in\.0\.b: /);
  });

  test('a long list of problems is shortened', async () => {
    const { server, call } = setUp();
    server.tool('sum', { input: z.object({ list: z.array(z.number()) }) }, () => 1);
    const { content } = await call('sum', { list: Array.from({ length: 1000 }, () => 'x') });
    expect(content[0].text).toMatch(/; and 990 more$/);
    expect(content[0].text.length).toBeLessThan(1000);
  });

  test('a thrown error is a tool error, but an RpcError is a protocol error', async () => {
    const { server, call, errors } = setUp();
    server.tool('error', {}, () => {
      throw new Error('no such city in postgres://db.internal');
    });
    server.tool('user', {}, () => {
      throw new UserError('no such city');
    });
    server.tool('string', {}, () => {
      const thrown: unknown = 'plain';
      throw thrown;
    });
    server.tool('rpc', {}, () => {
      throw new RpcError(McpErrorCode.UrlElicitationRequired, 'go there first', { data: { elicitations: [] } });
    });
    const error = (text: string) => ({ content: [{ type: 'text', text }], isError: true });
    expect(await call('user')).toEqual(error('no such city'));
    expect(errors).toEqual([]);
    expect(await call('error')).toEqual(error('Tool error failed with an internal error'));
    expect(await call('string')).toEqual(error('Tool string failed with an internal error'));
    expect(errors.map(({ message }) => message)).toEqual([
      'Tool error failed: no such city in postgres://db.internal',
      'Tool string failed: plain',
    ]);
    expect(await rejected(call('rpc'))).toEqual({
      code: McpErrorCode.UrlElicitationRequired,
      message: 'go there first',
      data: { elicitations: [] },
    });
  });

  test('arguments with more levels than the stack can hold are refused', async () => {
    const { server, call } = setUp();
    server.tool('tree', { input: { type: 'object', properties: { child: { $ref: '#' } } } }, () => 1);
    let tree: JsonObject = {};
    for (let depth = 0; depth < 1_000_000; depth += 1) tree = { child: tree };
    expect(await call('tree', tree)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Invalid arguments for tool tree: is too deep to check') }],
    });
    expect(await call('tree', { child: {} })).toMatchObject({ content: [{ text: '1' }] });
  });

  test('a name can be registered only once', () => {
    const { server } = setUp();
    server.tool('x', {}, () => 1);
    expect(() => server.tool('x', {}, () => 1)).toThrow('Tool x is already registered');
  });
});

describe('schemas', () => {
  test('a tool without an input schema gets no arguments', async () => {
    const { server, call, list } = setUp();
    server.tool('now', {}, (args) => args);
    expect(await call('now', { extra: 1 })).toEqual({ content: [{ type: 'text', text: '{}' }] });
    expect(await list()).toEqual([{ name: 'now', inputSchema: { type: 'object', properties: {} } }]);
  });

  test('plain schemas are listed unchanged', async () => {
    const { server, list } = setUp();
    server.tool('add', { title: 'Add', input: numbers, output: result }, ({ a }) => a);
    expect(await list()).toEqual([{ name: 'add', title: 'Add', inputSchema: numbers, outputSchema: result }]);
  });

  test('a Standard Schema is listed by its input and output types', async () => {
    const { server, call, list } = setUp();
    const input = z.object({ a: z.string().default('x').describe('first') });
    server.tool('t', { input, output: z.object({ n: z.string().transform(Number).pipe(z.number()) }) }, ({ a }) => ({
      n: a,
    }));
    const [tool] = await list();
    expect(tool?.['inputSchema']).toEqual({
      type: 'object',
      properties: { a: { type: 'string', default: 'x', description: 'first' } },
    });
    expect(tool?.['outputSchema']).toMatchObject({ type: 'object', properties: { n: { type: 'number' } } });
    expect(await call('t', { a: '7' })).toMatchObject({ structuredContent: { n: 7 } });
  });

  test('asynchronous refinements are awaited', async () => {
    const { server, call } = setUp();
    const input = z.object({ a: z.string().refine(async (a) => a === 'x', 'must be x') });
    server.tool('t', { input }, ({ a }) => a);
    expect(await call('t', { a: 'x' })).toEqual({ content: [{ type: 'text', text: 'x' }] });
    expect(await call('t', { a: 'y' })).toMatchObject({
      content: [{ text: 'Invalid arguments for tool t: a: must be x' }],
    });
  });

  test('a union of objects is listed as an object', async () => {
    const { server, list } = setUp();
    server.tool('u', { input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) }, () => 1);
    expect((await list())[0]?.['inputSchema']).toMatchObject({ type: 'object', anyOf: [{}, {}] });
  });

  test('an invalid input schema is refused at once', () => {
    const { server } = setUp();
    expect(() => server.tool('a', { input: { type: 'string' } }, () => 1)).toThrow('must have type "object"');
    expect(() => server.tool('a', { input: z.string() }, () => 1)).toThrow('must have type "object"');
    expect(() => server.tool('a', { input: 'x' as unknown as JsonObject }, () => 1)).toThrow(
      'must be a Standard Schema or',
    );
    const mute = { '~standard': { version: 1, vendor: 'old', validate: () => ({ value: 1 }) } };
    expect(() => server.tool('a', { input: mute as unknown as StandardSchema }, () => 1)).toThrow(
      '(old) cannot be converted to JSON Schema',
    );
    expect(() => server.tool('a', { input: z.object({ a: z.date() }) }, () => 1)).toThrow(
      'cannot be written as JSON Schema',
    );
  });

  test('a refused tool is not registered', async () => {
    const { server, list } = setUp();
    expect(() => server.tool('a', { input: { type: 'string' } }, () => 1)).toThrow(TypeError);
    server.tool('a', {}, () => 1);
    expect(await list()).toHaveLength(1);
  });
});

test('a call may be rerun if the tool or its annotations say so', () => {
  const onerror = () => {};
  const tools = new Tools(
    { pageSize: 9, changed: () => {} },
    onerror,
    errorsForCallers(false, onerror),
    new LazyTasks((Tasks) => new Tasks({}, onerror, onerror)),
  );
  const safeToRerun = (config: ToolConfig) => {
    const registered = tools.add('t', config, () => 1);
    const answer = tools.safeToRerun('t');
    expect(tools.registry.get('t')!.definition).not.toHaveProperty('safeToRerun');
    registered.remove();
    return answer;
  };
  expect(safeToRerun({})).toBe(false);
  expect(safeToRerun({ annotations: { readOnlyHint: true } })).toBe(true);
  expect(safeToRerun({ annotations: { idempotentHint: true } })).toBe(true);
  expect(safeToRerun({ annotations: { readOnlyHint: true }, safeToRerun: false })).toBe(false);
  expect(safeToRerun({ safeToRerun: true })).toBe(true);
  expect(tools.safeToRerun('t')).toBe(false);
});

test.each([
  ['getUser', 0],
  ['DATA_EXPORT-v2.x', 0],
  ['a'.repeat(128), 0],
  ['a'.repeat(129), 1],
  ['two words', 1],
  ['größe', 1],
])('the name %j is accepted, with %i warnings', async (name, times) => {
  const { server, list, errors } = setUp();
  server.tool(name, {}, () => 1).update({ title: 'T' });
  expect(await list()).toMatchObject([{ name, title: 'T' }]);
  expect(errors).toHaveLength(times);
});

describe('types', () => {
  test('arguments and results are inferred from a JSON Schema literal', () => {
    const { server } = setUp();
    server.tool(
      'all',
      {
        input: {
          type: 'object',
          properties: {
            text: { type: 'string' },
            count: { type: 'integer' },
            flag: { type: 'boolean' },
            color: { type: 'string', enum: ['red', 'blue'] },
            list: { type: 'array', items: { type: 'number' } },
            nested: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
            open: { type: 'object' },
            odd: { anyOf: [{ type: 'string' }, { type: 'number' }] },
          },
          required: ['text', 'list', 'nested'],
        },
      },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          text: string;
          list: number[];
          nested: { x: string };
          count?: number;
          flag?: boolean;
          color?: 'red' | 'blue';
          open?: JsonObject;
          odd?: unknown;
        }>();
      },
    );
  });

  test('a schema that is not a literal gives untyped arguments', () => {
    const { server } = setUp();
    const input: JsonObject = { type: 'object' };
    server.tool('open', { input }, (args) => {
      expectTypeOf(args).toEqualTypeOf<JsonObject>();
    });
    server.tool('none', {}, (args) => {
      expectTypeOf(args).toEqualTypeOf<{}>();
    });
  });

  test('a Standard Schema returns its parsed arguments', () => {
    const { server } = setUp();
    server.tool(
      'zod',
      { input: z.object({ a: z.string().transform(Number), b: z.boolean().default(true) }) },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{ a: number; b: boolean }>();
      },
    );
  });

  test('a result must match its output schema', () => {
    const { server } = setUp();
    // @ts-expect-error: the result is a number
    server.tool('wrong', { output: result }, () => ({ result: 'x' }));
    // @ts-expect-error: the bare result is a number
    server.tool('bare', { output: result }, () => 'x');
    // @ts-expect-error: the output is an object
    server.tool('zod', { output: z.object({ n: z.number() }) }, async () => 1);
    server.tool('right', { output: z.object({ n: z.number() }) }, async () => ({ n: 1 }));
  });
});
