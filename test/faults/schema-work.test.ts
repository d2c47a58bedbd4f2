/**
 * The cost of the worst schemas and values for a client, a server and a bridge. The limit is a number of steps, so it
 * is the same on every machine. This test measures that a step stays cheap. Processor time does not depend on other
 * work of the machine. The margin allows for slower processors. Without a limit, these schemas take from seconds to
 * forever.
 */
import { expect, test } from 'vitest';
import { checkHeaders } from '../../src/bridge/header-check.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { JsonSchema } from '../../src/schema/json-schema.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { clientOf, PlayedServer } from '../ledger/played-server.ts';
import { TestExchange } from '../support/exchange.ts';
import { slowToWrite, WORST_SCHEMAS } from '../support/worst-schemas.ts';

/** Milliseconds of processor time. A quiet machine of 2024 needs at most 200. */
const MOST = 1500;

async function cheap<T>(act: () => T | Promise<T>): Promise<T> {
  const before = process.cpuUsage();
  const result = await act();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(MOST);
  return result;
}

const cases = Object.entries(WORST_SCHEMAS);

test.each(cases)('%s: a client validates a result, or reports why not', async (_, make) => {
  const [outputSchema, structuredContent] = make();
  const server = new PlayedServer({
    'tools/list': () => ({ tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema }] }),
    'tools/call': () => ({ content: [], structuredContent }),
  });
  const { client, errors } = await clientOf(server);
  await client.listTools();
  const outcome = await cheap(() =>
    client.callTool('a').then(
      () => 'taken',
      ({ message }: Error) => message,
    ),
  );
  const valid = validityOf(outputSchema, structuredContent);
  // An unusable schema is reported, and nothing is checked against it.
  expect(errors.filter((message) => message.includes('are not checked'))).toHaveLength(valid === undefined ? 1 : 0);
  const refused = 'The result of the tool a does not match its output schema';
  expect(outcome).toContain(valid === false ? refused : 'taken');
});

test('an error that is not reported costs little, whichever keyword finds it', () => {
  const cost = (keyword: string): number => {
    const branches = Array.from({ length: 9900 }, (_, id) => ({ [keyword]: 1.000000000000123 + id * 9.7 }));
    const schema = new JsonSchema({ items: { anyOf: [...branches, true] } }, 'It');
    const value = Array.from({ length: 150 }, () => 0.5);
    const before = process.cpuUsage().user;
    expect(schema.validate(value).issues).toBeUndefined();
    return process.cpuUsage().user - before;
  };
  // The least of several, because other work of the machine costs a process time too.
  const costs = Array.from({ length: 5 }, () => [cost('minimum'), cost('multipleOf')] as const);
  const [minimum, multipleOf] = [Math.min(...costs.map(([each]) => each)), Math.min(...costs.map(([, each]) => each))];
  expect(multipleOf).toBeLessThan(2 * minimum);
});

test('numbers are compared in the same time, whether it takes long to write their digits or not', () => {
  const cost = (number: (index: number) => number): number => {
    const none = (schema: JsonObject): JsonObject => ({ not: { contains: schema } });
    const schema = new JsonSchema({ allOf: [none({ const: 1 }), none({ const: [1] })] }, 'It');
    const value = Array.from({ length: 100_000 }, (_, index) => number(index));
    const before = process.cpuUsage().user;
    expect(schema.validate([value, ...value]).issues).toBeUndefined();
    return process.cpuUsage().user - before;
  };
  const costs = Array.from({ length: 5 }, () => [cost((index) => index + 2), cost(slowToWrite)] as const);
  const [quick, slow] = [Math.min(...costs.map(([each]) => each)), Math.min(...costs.map(([, each]) => each))];
  expect(slow).toBeLessThan(3 * quick);
});

/** Whether a schema accepts a value. Undefined if the schema cannot be used. */
function validityOf(schema: JsonObject, value: unknown): boolean | undefined {
  try {
    return new JsonSchema(schema, 'It').validate(value).issues === undefined;
  } catch {
    return undefined;
  }
}

test.each(cases)('%s: a server refuses the schema, or checks its arguments and results', async (_, make) => {
  const [{ $schema, ...schema }, value] = make();
  const server = new McpServer({ name: 'test', version: '1', onerror: () => {} });
  const $id = schema['$id'] ?? 'schema://case';
  const input: JsonObject = {
    type: 'object',
    properties: { value: { $ref: $id } },
    $defs: { case: { ...schema, $id } },
  };
  if ($schema !== undefined) input['$schema'] = $schema;
  const refused = await cheap(() => thrown(() => server.tool('a', { input }, () => 'ran')));
  const exchange = new TestExchange('tools/call', { name: 'a', arguments: { value } });
  const outcome = await cheap(() => server.service(exchange).then(({ content }) => content[0].text, String));
  expect(outcome).toMatch(
    refused instanceof TypeError ? /Unknown tool: a/ : /^(ran|Invalid arguments for tool a: .*)$/s,
  );
});

function thrown(act: () => unknown): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

test.each(cases)('%s: a bridge reads a list of such tools', async (_, make) => {
  const [inputSchema] = make();
  const tools = Array.from({ length: 100 }, (_each, index) => ({ name: `t${index}`, inputSchema }));
  const service = checkHeaders(async () => ({ tools }));
  const exchange = new TestExchange('tools/list', {}, { caller: { revision: '2026-07-28' }, headers: {} });
  const { tools: kept } = await cheap(() => service(exchange));
  expect(kept.length).toBeLessThanOrEqual(tools.length);
});
