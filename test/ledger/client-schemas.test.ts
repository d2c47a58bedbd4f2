import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { json, scripted } from '../support/http-server.ts';
import { clientOf, PlayedServer } from './played-server.ts';

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';

/**
 * Whether a client accepts each value as a result of a tool with the given output schema, and the errors that it
 * reports.
 */
async function taken(outputSchema: JsonObject, values: readonly unknown[]) {
  const contents = [...values];
  const server = new PlayedServer({
    'tools/list': () => ({ tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema }] }),
    'tools/call': () => ({ content: [], structuredContent: contents.shift() }),
  });
  const { client, errors } = await clientOf(server);
  await client.listTools();
  const outcomes: unknown[] = [];
  for (const _ of values) {
    outcomes.push(
      await client.callTool('a').then(
        () => true,
        ({ name }: Error) => name,
      ),
    );
  }
  return { outcomes, errors };
}

const BAD = 'InvalidResultError';

test.each([undefined, DRAFT_2020])('an output schema whose $schema is %j is read as 2020-12', async ($schema) => {
  const dialect = $schema === undefined ? {} : { $schema };
  // Draft 7 has neither of them.
  const tuple = { ...dialect, type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false };
  expect(
    await taken(tuple, [
      ['a', 1],
      ['a', 'b'],
      ['a', 1, 2],
    ]),
  ).toEqual({ outcomes: [true, BAD, BAD], errors: [] });
  const dependent = { ...dialect, type: 'object', dependentRequired: { a: ['b'] } };
  expect(await taken(dependent, [{ a: 1, b: 1 }, { b: 1 }, { a: 1 }])).toEqual({
    outcomes: [true, true, BAD],
    errors: [],
  });
});

test('an output schema of draft-07 is read as draft-07', async () => {
  const tuple = { $schema: DRAFT_07, type: 'array', items: [{ type: 'string' }], additionalItems: false };
  expect(await taken(tuple, [['a'], [1], ['a', 'b']])).toEqual({ outcomes: [true, BAD, BAD], errors: [] });
});

test('network references in an output schema are not fetched, and this is reported', async () => {
  const place = await scripted((_, response) => json(response, { type: 'string' }));
  const { outcomes, errors } = await taken({ type: 'object', $ref: `${place.url.href}#/$defs/a` }, [{}, {}]);
  expect(outcomes).toEqual([true, true]);
  expect(errors).toEqual([expect.stringContaining('Results of the tool a are not checked')]);
  expect(place.connections()).toBe(0);
});

test.each<[string, JsonObject]>([
  ['with too many levels', nested(5000)],
  ['with too many subschemas', { anyOf: Array.from({ length: 100_000 }, () => ({ type: 'string' })) }],
])('an output schema %s is not used, and this is reported', async (_, schema) => {
  const { outcomes, errors } = await taken({ type: 'object', ...schema }, [{}]);
  expect(outcomes).toEqual([true]);
  expect(errors).toEqual([expect.stringContaining('Results of the tool a are not checked')]);
});

function nested(depth: number): JsonObject {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < depth; level += 1) schema = { properties: { a: schema } };
  return schema;
}
