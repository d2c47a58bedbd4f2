import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from './mcp-server.ts';

/** The arguments that the handlers below get from every kind of schema. */
interface Order {
  title: string;
  copies: number;
  how: 'desk' | 'post';
  tags?: string[];
  to: { name: string };
}
/** A plain schema has no defaults: a property that is not required may be absent. */
interface LooseOrder {
  title: string;
  copies?: number;
  how: 'desk' | 'post';
  tags?: string[];
  to: { name: string };
}
interface Receipt {
  total: number;
  lines: { title: string }[];
}

const handle = ({ title, copies }: Pick<Order, 'title' | 'copies'>): Receipt => ({
  total: copies * 2,
  lines: [{ title }],
});

/** Each server has a tool `order`, which takes an order and returns a receipt, and a tool `ask`, which shows a form. */
const servers: Record<string, (server: McpServer) => void> = {
  zod(server) {
    const input = z.object({
      title: z.string().min(2),
      copies: z.int().max(9).default(1),
      how: z.enum(['desk', 'post']),
      tags: z.array(z.string()).optional(),
      to: z.object({ name: z.string() }),
    });
    const output = z.object({ total: z.number(), lines: z.array(z.object({ title: z.string() })) });
    server.tool('order', { input, output }, (args) => {
      expectTypeOf(args).toEqualTypeOf<Order>();
      return handle(args);
    });
    // @ts-expect-error -- The result does not fit the output.
    server.tool('wrong', { input, output }, () => ({ total: 'two', lines: [] }));
    const schema = z.object({
      name: z.string().min(2).meta({ title: 'Name' }),
      email: z.email().optional(),
      copies: z.int().min(1).default(1),
      gift: z.boolean(),
      how: z.enum(['desk', 'post']),
      extras: z.array(z.enum(['card', 'wrap'])),
    });
    server.tool('ask', {}, async (_, ctx) => {
      const answer = await ctx.elicit({ message: 'Who?', schema });
      if (answer.action === 'accept') expectTypeOf(answer.content).toEqualTypeOf<z.output<typeof schema>>();
      return answer.content;
    });
  },

  valibot(server) {
    const input = v.object({
      title: v.pipe(v.string(), v.minLength(2)),
      copies: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(9)), 1),
      how: v.picklist(['desk', 'post']),
      tags: v.optional(v.array(v.string())),
      to: v.object({ name: v.string() }),
    });
    const output = v.object({ total: v.number(), lines: v.array(v.object({ title: v.string() })) });
    const config = { input: toStandardJsonSchema(input), output: toStandardJsonSchema(output) };
    server.tool('order', config, (args) => {
      expectTypeOf(args).toEqualTypeOf<Order>();
      return handle(args);
    });
    // @ts-expect-error -- The result does not fit the output.
    server.tool('wrong', config, () => ({ total: 'two', lines: [] }));
    const schema = toStandardJsonSchema(
      v.object({
        name: v.pipe(v.string(), v.minLength(2), v.title('Name')),
        email: v.optional(v.pipe(v.string(), v.email())),
        copies: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 1),
        gift: v.boolean(),
        how: v.picklist(['desk', 'post']),
        extras: v.array(v.picklist(['card', 'wrap'])),
      }),
    );
    server.tool('ask', {}, async (_, ctx) => {
      const answer = await ctx.elicit({ message: 'Who?', schema });
      if (answer.action === 'accept') {
        expectTypeOf(answer.content.copies).toEqualTypeOf<number>();
        expectTypeOf(answer.content.extras).toEqualTypeOf<('card' | 'wrap')[]>();
      }
      return answer.content;
    });
  },

  arktype(server) {
    const input = type({
      title: 'string>=2',
      copies: 'number.integer<=9 = 1',
      how: "'desk' | 'post'",
      'tags?': 'string[]',
      to: { name: 'string' },
    });
    const output = type({ total: 'number', lines: type({ title: 'string' }).array() });
    server.tool('order', { input, output }, (args) => {
      expectTypeOf(args).toEqualTypeOf<Order>();
      return handle(args);
    });
    // @ts-expect-error -- The result does not fit the output.
    server.tool('wrong', { input, output }, () => ({ total: 'two', lines: [] }));
    const schema = type({
      name: type('string>=2').configure({ title: 'Name' }),
      'email?': 'string.email',
      copies: 'number.integer>=1 = 1',
      gift: 'boolean',
      how: "'desk' | 'post'",
      extras: "('card' | 'wrap')[]",
    });
    server.tool('ask', {}, async (_, ctx) => {
      const answer = await ctx.elicit({ message: 'Who?', schema });
      if (answer.action === 'accept') {
        expectTypeOf(answer.content.copies).toEqualTypeOf<number>();
        expectTypeOf(answer.content.extras).toEqualTypeOf<('card' | 'wrap')[]>();
      }
      return answer.content;
    });
  },

  'JSON Schema'(server) {
    const input = {
      type: 'object',
      properties: {
        title: { type: 'string', minLength: 2 },
        copies: { type: 'integer', maximum: 9 },
        how: { enum: ['desk', 'post'] },
        tags: { type: 'array', items: { type: 'string' } },
        to: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      required: ['title', 'how', 'to'],
    } as const;
    const output = {
      type: 'object',
      properties: {
        total: { type: 'number' },
        lines: {
          type: 'array',
          items: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
        },
      },
      required: ['total', 'lines'],
    } as const;
    server.tool('order', { input, output }, (args) => {
      expectTypeOf(args).toEqualTypeOf<LooseOrder>();
      return handle({ copies: 1, ...args });
    });
    // @ts-expect-error -- The result does not fit the output.
    server.tool('wrong', { input, output }, () => ({ total: 'two', lines: [] }));
    server.tool('ask', {}, async (_, ctx) => {
      const answer = await ctx.elicit({
        message: 'Who?',
        requestedSchema: {
          type: 'object',
          properties: {
            name: { type: 'string', minLength: 2, title: 'Name' },
            email: { type: 'string', format: 'email' },
            copies: { type: 'integer', minimum: 1 },
            gift: { type: 'boolean' },
            how: { type: 'string', enum: ['desk', 'post'] },
            extras: { type: 'array', items: { type: 'string', enum: ['card', 'wrap'] } },
          },
          required: ['name', 'gift', 'how', 'extras'],
        },
      });
      if (answer.action !== 'accept') return undefined;
      expectTypeOf(answer.content.email).toEqualTypeOf<string | undefined>();
      expectTypeOf(answer.content.extras).toEqualTypeOf<('card' | 'wrap')[]>();
      return { copies: 1, ...answer.content };
    });
  },
};

describe.each(Object.entries(servers))('%s', (_, register) => {
  const setUp = () => {
    const server = new McpServer({ name: 'test', version: '1', onerror: () => {} });
    register(server);
    return server;
  };
  const call = (name: string, args: JsonObject) =>
    setUp().service(new TestExchange('tools/call', { name, arguments: args }));
  const order = { title: 'Momo', how: 'post', to: { name: 'Ada' } };

  test('lists arguments and results as JSON Schema', async () => {
    const { tools } = await setUp().service(new TestExchange('tools/list'));
    expect(tools[0]).toMatchObject({
      name: 'order',
      inputSchema: {
        type: 'object',
        properties: {
          title: { type: 'string', minLength: 2 },
          copies: { type: 'integer', maximum: 9 },
          how: { enum: ['desk', 'post'] },
          tags: { type: 'array', items: { type: 'string' } },
          to: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        },
      },
      outputSchema: {
        type: 'object',
        properties: { total: { type: 'number' }, lines: { type: 'array', items: { required: ['title'] } } },
      },
    });
    expect(tools[0].inputSchema.required.toSorted()).toEqual(['how', 'title', 'to']);
    expect(tools[0].inputSchema).not.toHaveProperty('$schema');
  });

  test('checks arguments, fills in defaults and returns structured content', async () => {
    expect(await call('order', order)).toMatchObject({
      structuredContent: { total: 2, lines: [{ title: 'Momo' }] },
      content: [{ type: 'text', text: '{"total":2,"lines":[{"title":"Momo"}]}' }],
    });
    expect(await call('order', { ...order, copies: 3 })).toMatchObject({ structuredContent: { total: 6 } });
  });

  test.each<[string, JsonObject]>([
    ['title', { ...order, title: 'M' }],
    ['copies', { ...order, copies: 10 }],
    ['how', { ...order, how: 'air' }],
    ['tags.0', { ...order, tags: [5] }],
    ['to.name', { ...order, to: {} }],
  ])('names the invalid argument: %s', async (argument, args) => {
    const { isError, content } = await call('order', args);
    expect(isError).toBe(true);
    expect(content[0].text).toContain(`Invalid arguments for tool order: ${argument}: `);
  });

  test('checks results', async () => {
    const result = await call('wrong', order);
    expect(result['isError']).toBe(true);
    expect(result['content'][0].text).toContain('total: ');
  });

  test('creates forms, and validates their answers', async () => {
    const ask = (content: JsonObject) => {
      const exchange = new TestExchange(
        'tools/call',
        { name: 'ask' },
        { onask: () => ({ action: 'accept', content }) },
      );
      return { exchange, result: setUp().service(exchange) };
    };
    const filled = { name: 'Ada', gift: true, how: 'desk', extras: ['card'] };
    const { exchange, result } = ask(filled);
    expect(JSON.parse((await result)['content'][0].text)).toEqual({ ...filled, copies: 1 });
    const { type: kind, properties, required } = exchange.asked[0]!.params['requestedSchema'];
    expect(kind).toBe('object');
    expect(required.toSorted()).toEqual(['extras', 'gift', 'how', 'name']);
    expect(properties).toMatchObject({
      name: { type: 'string', minLength: 2 },
      email: { type: 'string', format: 'email' },
      copies: { type: 'integer', minimum: 1 },
      gift: { type: 'boolean' },
      how: { type: 'string', enum: ['desk', 'post'] },
      extras: { type: 'array', items: { type: 'string', enum: ['card', 'wrap'] } },
    });
    const wrong = ask({ ...filled, extras: ['glitter'] }).result;
    await expect(wrong).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('extras.0') });
  });
});

test('a plain Valibot schema is refused, and the error says how to convert it', () => {
  const server = new McpServer({ name: 'test', version: '1' });
  const input = v.object({ a: v.string() }) as JsonObject;
  expect(() => server.tool('t', { input }, () => 1)).toThrow(
    new TypeError(
      'Tool t: the input schema (valibot) cannot be converted to JSON Schema (it has no ~standard.jsonSchema); ' +
        'wrap it in toStandardJsonSchema of @valibot/to-json-schema',
    ),
  );
});

test.each<[string, JsonObject]>([
  ['Zod', { a: z.string() }],
  ['ArkType', { b: type('string') }],
  ['Valibot', { c: v.string() }],
])('an object of %s schemas is not a schema, and is refused', (_, input) => {
  const server = new McpServer({ name: 'test', version: '1' });
  const [name] = Object.keys(input);
  const message = `Tool t: the input schema has a schema at ${name}, but is not a schema itself`;
  expect(() => server.tool('t', { input }, () => 'never')).toThrow(message);
  expect(() => server.tool('t', { output: input }, () => ({}))).toThrow('has a schema at');
});

test('a schema without JSON Schema is refused with the reason', () => {
  const server = new McpServer({ name: 'test', version: '1' });
  expect(() => server.tool('t', { input: z.object({ when: z.date() }) }, () => 1)).toThrow(
    /^Tool t: the input schema cannot be written as JSON Schema at when: Date /,
  );
  const nested = z.object({ range: z.object({ from: z.date() }) });
  expect(() => server.tool('t', { input: nested }, () => 1)).toThrow(/ at range\.from: Date /);
  expect(() => server.tool('t', { input: mini.object({ a: mini.string() }) as never }, () => 1)).toThrow(
    /zod\/mini has no conversion: build it with "zod", or give z\.toJSONSchema\(schema\)$/,
  );
});

describe('a JSON Schema', () => {
  const setUp =
    (schema: JsonObject, side: 'input' | 'output' = 'input') =>
    () =>
      new McpServer({ name: 'test', version: '1' }).tool('t', { [side]: schema }, () => 1);

  test.each(['https://json-schema.org/draft/2019-09/schema', 'http://json-schema.org/draft-04/schema#', 'x', 5])(
    'of the dialect %j is refused with the list of supported dialects',
    ($schema) => {
      for (const side of ['input', 'output'] as const) {
        expect(setUp({ $schema, type: 'object' }, side)).toThrow(
          `Tool t: the ${side} schema has an unsupported dialect, ${JSON.stringify($schema)} (supported: 2020-12, draft-07)`,
        );
      }
    },
  );

  test('with an external reference is refused, and nothing is fetched', () => {
    const schema = { type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } };
    expect(setUp(schema)).toThrow(TypeError);
    expect(setUp(schema, 'output')).toThrow(
      'Tool t: the output schema refers to "https://example.com/a.json" (properties.a.$ref), which is not in the schema',
    );
  });

  test('that needs too many steps is refused', () => {
    const circle: JsonObject = { type: 'object' };
    circle['properties'] = { a: circle };
    expect(setUp(circle)).toThrow('Tool t: the input schema is nested deeper than 64 schemas');
  });

  test('with composition and internal references is validated', async () => {
    const server = new McpServer({ name: 'test', version: '1' });
    const input = {
      type: 'object',
      $defs: { id: { type: 'string', pattern: '^#' } },
      oneOf: [{ required: ['id'] }, { required: ['name'] }],
      properties: { id: { $ref: '#/$defs/id' }, name: { $ref: '#/$defs/id' } },
      if: { required: ['id'] },
      then: { properties: { id: { minLength: 3 } } },
    };
    server.tool('t', { input }, () => 'ok');
    const call = (args: JsonObject) => server.service(new TestExchange('tools/call', { name: 't', arguments: args }));
    expect(await call({ id: '#12' })).toMatchObject({ content: [{ text: 'ok' }] });
    expect(await call({ id: '#1' })).toMatchObject({ isError: true });
    expect(await call({ id: '#12', name: '#12' })).toMatchObject({ isError: true });
    expect(await call({ name: 'x' })).toMatchObject({ isError: true });
  });
});

test.each<[string, JsonObject, unknown, string]>([
  ['a number', { type: 'number' }, 5, '5'],
  ['a string', { type: 'string' }, 'a "b"', '"a \\"b\\""'],
  ['a list', { type: 'array' }, [1, null], '[1,null]'],
  ['null', { type: 'null' }, null, 'null'],
])('structured content that is %s has its JSON as text', async (_, output, value, text) => {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('t', { output }, () => value as JsonObject);
  expect(await server.service(new TestExchange('tools/call', { name: 't' }))).toStrictEqual({
    content: [{ type: 'text', text }],
    structuredContent: value,
  });
});
