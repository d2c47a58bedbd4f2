/**
 * What the worst schemas and values cost a client, a server and a bridge. The bound itself is a count of steps and so the
 * same on every machine; what is measured here is that a step stays cheap. Processor time does not grow with what else the
 * machine does; the margin is for slower processors, and far below what these cost without a bound: seconds to for ever.
 */
import { expect, test } from 'vitest';
import { checkHeaders } from '../../src/bridge/header-check.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { PlainSchema } from '../../src/schema/plain-schema.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { clientOf, HandServer } from '../ledger/hand-server.ts';
import { TestExchange } from '../support/exchange.ts';
import { WORST_SCHEMAS } from '../support/worst-schemas.ts';

/** Milliseconds of processor time, of which a quiet machine of 2024 takes at most 200. */
const MOST = 1500;

async function cheap<T>(act: () => T | Promise<T>): Promise<T> {
  const before = process.cpuUsage();
  const result = await act();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(MOST);
  return result;
}

const cases = Object.entries(WORST_SCHEMAS);

test.each(cases)('%s: a client takes a checked result, or says why not', async (_, make) => {
  const [outputSchema, structuredContent] = make();
  const server = new HandServer({
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
  const verdict = verdictOf(outputSchema, structuredContent);
  // A schema that cannot be used is reported, and nothing is checked by it.
  expect(errors.filter((message) => message.includes('are not checked'))).toHaveLength(verdict === undefined ? 1 : 0);
  const refused = 'The result of the tool a does not pass its output schema';
  expect(outcome).toContain(verdict === false ? refused : 'taken');
});

/** Whether a schema takes a value; undefined where it is no schema that can be used. */
function verdictOf(schema: JsonObject, value: unknown): boolean | undefined {
  try {
    return new PlainSchema(schema, 'It').validate(value).issues === undefined;
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
