import {
  InitializeResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListTasksResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { ask, fleetOf, tool } from '../../../test/support/fleet.ts';
import { scripted } from '../../../test/support/service.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';

const object = { type: 'object' };
const prompt = { name: 'p' };
const resource = { uri: 'x:1', name: 'r' };
const template = { uriTemplate: 'x:{id}', name: 't' };
const time = '2025-11-25T10:00:00.5+01:00';
const task = { taskId: 't', status: 'working', ttl: null, createdAt: time, lastUpdatedAt: time };

/** Copies of an entry, each with other members. */
const withEach = (entry: JsonObject, ...changes: JsonObject[]): JsonObject[] =>
  changes.map((change) => Object.assign({}, entry, change));

/** For each list: its results as the official client checks them, a valid entry, and malformed ones. */
const LISTS: readonly (readonly [
  method: string,
  key: string,
  schema: { parse(result: unknown): unknown },
  valid: JsonObject,
  malformed: readonly JsonObject[],
])[] = [
  [
    ...(['tools/list', 'tools', ListToolsResultSchema] as const),
    {
      ...{
        ...tool('x'),
        title: 'X',
        description: 'x',
        icons: [{ src: 'x:1', sizes: ['any'], theme: 'dark' }],
        _meta: {},
      },
      inputSchema: { ...object, properties: { a: {}, b: { type: 'string' } }, required: ['a'] },
      ...{ outputSchema: object, annotations: { readOnlyHint: true }, execution: { taskSupport: 'optional' } },
    },
    [
      { name: 'x' },
      ...withEach(
        tool('x'),
        ...[5, {}, { type: 'string' }, { ...object, properties: 5 }, { ...object, properties: { a: null } }].map(
          (inputSchema) => ({ inputSchema }),
        ),
        ...[{ title: null }, { description: 5 }, { icons: [{}] }, { _meta: 3 }, { outputSchema: 'x' }],
        ...[{ annotations: { readOnlyHint: 'yes' } }, { execution: 4 }, { outputSchema: { ...object, required: 'a' } }],
      ),
    ],
  ],
  [
    ...(['prompts/list', 'prompts', ListPromptsResultSchema] as const),
    { ...prompt, arguments: [{ name: 'a', required: true }] },
    withEach(prompt, { arguments: {} }, { arguments: [{}] }, { arguments: [{ name: 'a', required: 'no' }] }),
  ],
  [
    ...(['resources/list', 'resources', ListResourcesResultSchema] as const),
    { ...resource, size: 5, annotations: { audience: ['user'], priority: 0.5, lastModified: time } },
    [
      { uri: 'x:1' },
      ...withEach(
        resource,
        ...[{ size: '5' }, { mimeType: 5 }, { annotations: { priority: 2 } }, { annotations: { audience: ['all'] } }],
        { annotations: { lastModified: 'now' } },
      ),
    ],
  ],
  [
    ...(['resources/templates/list', 'resourceTemplates', ListResourceTemplatesResultSchema] as const),
    template,
    [{ uriTemplate: 'x:{id}' }, { ...template, description: {} }],
  ],
  [
    ...(['tasks/list', 'tasks', ListTasksResultSchema] as const),
    { ...task, ttl: 5, pollInterval: 5, statusMessage: 'x' },
    [{ taskId: 't' }, { ...task, status: 'lost' }, { ...task, ttl: '5' }],
  ],
];

describe.each(LISTS)('malformed entries of %s', (method, key, schema, valid, malformed) => {
  test.each(malformed.map((entry) => [JSON.stringify(entry), entry] as const))(
    'such as %s leave clients all others',
    async (_, entry) => {
      const result = (...entries: JsonObject[]) => ({ [key]: entries });
      expect(() => schema.parse(result(valid))).not.toThrow();
      const server = (...entries: JsonObject[]) =>
        scripted(
          { [method]: () => result(...entries) },
          { tools: {}, prompts: {}, resources: {}, tasks: { list: {} } },
        );
      const { fleet, warnings } = fleetOf({ a: server(entry, valid), b: server(valid) });
      const listed = await ask(fleet, method);
      expect(listed[key]).toHaveLength(2);
      expect(() => schema.parse(listed)).not.toThrow();
      expect(warnings).toEqual([
        expect.stringContaining(`the server "a" returned malformed entries of ${method}, which are left out, such as`),
      ]);
      // A single server affects nobody else.
      expect((await ask(fleetOf({ a: server(entry) }).fleet, method))[key]).toHaveLength(1);
    },
  );
});

test.each<JsonObject>([
  { logging: 7, completions: 'a' },
  { tools: { listChanged: 'yes' }, resources: [1], prompts: null },
  { experimental: 5, extensions: [1], tasks: 'a' },
  { experimental: { a: 5 }, extensions: { b: 7 }, tasks: { requests: 5, list: 3 } },
])('clients can connect although a server declares the capabilities %j', async (capabilities) => {
  const odd = scripted({ 'server/discover': () => ({ capabilities: { 'x/own': 1, ...capabilities } }) });
  const { fleet } = fleetOf({ a: odd, b: scripted({}, { logging: {} }) });
  const described = await ask(fleet, 'server/discover');
  expect(described['capabilities']).toMatchObject({ logging: {} });
  const result = { ...described, protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' } };
  expect(() => InitializeResultSchema.parse(result)).not.toThrow();
});
