import {
  InitializeResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListTasksResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ask, fleetOf, tool, tools, toolServer } from '../../../test/support/fleet.ts';
import { scripted } from '../../../test/support/service.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { REVISIONS } from '../../protocol/revisions.ts';
import { shapeTool } from '../../wire/legacy/translate/lists.ts';
import { LISTS } from './kinds.ts';
import { validCapabilities, validEntries } from './valid.ts';

const object = { type: 'object' };
const prompt = { name: 'p' };
const resource = { uri: 'x:1', name: 'r' };
const template = { uriTemplate: 'x:{id}', name: 't' };
const time = '2025-11-25T10:00:00.5+01:00';
const task = { taskId: 't', status: 'working', ttl: null, createdAt: time, lastUpdatedAt: time };

interface Case {
  readonly method: string;
  /** Checks a result as the official client does. */
  readonly schema: { parse(result: unknown): unknown };
  /** An entry with only the required members. */
  readonly least: JsonObject;
  /** Other valid members. */
  readonly more: JsonObject;
  /** Entries that have no valid part, each with the mistake. */
  readonly malformed: readonly (readonly [entry: JsonObject, mistake: string])[];
  /** Malformed members, each with its valid part and the mistake. */
  readonly members: readonly (readonly [given: JsonObject, valid: JsonObject, mistake: string])[];
}

const CASES: readonly Case[] = [
  {
    ...{ method: 'tools/list', schema: ListToolsResultSchema, least: tool('x') },
    more: {
      ...{ title: 'X', description: 'x', icons: [{ src: 'x:1', sizes: ['any'], theme: 'dark' }], _meta: {} },
      inputSchema: { ...object, properties: { a: {}, b: { type: 'string' } }, required: ['a'] },
      ...{ outputSchema: object, annotations: { readOnlyHint: true }, execution: { taskSupport: 'optional' } },
    },
    malformed: [
      [{ name: 'x', title: null }, 'inputSchema is missing'],
      [{ name: 'x', inputSchema: null }, 'inputSchema must be an object'],
      [{ name: 'x', inputSchema: {} }, 'inputSchema.type is missing'],
      [{ name: 'x', inputSchema: { type: 'string' } }, 'inputSchema.type must be "object"'],
    ],
    members: [
      [{ title: null, description: null, icons: null, outputSchema: null, annotations: null, _meta: null }, {}, ''],
      [{ title: 5 }, {}, 'title must be a string'],
      [{ _meta: 3 }, {}, '_meta must be an object'],
      [{ outputSchema: 'x' }, {}, 'outputSchema must be an object'],
      [
        { execution: { taskSupport: 'no' } },
        { execution: {} },
        'execution.taskSupport must be "required" or "optional" or',
      ],
      [
        { annotations: { title: 'X', readOnlyHint: 'yes' } },
        { annotations: { title: 'X' } },
        'readOnlyHint must be true or',
      ],
      [
        { icons: [{}, { src: 'x:1', theme: 'red' }] },
        { icons: [{ src: 'x:1' }] },
        'icons.1.theme must be "light" or "dark"',
      ],
      [
        { inputSchema: { ...object, properties: 5 } },
        { inputSchema: object },
        'inputSchema.properties must be an object',
      ],
      [
        { inputSchema: { properties: { a: null, b: true }, ...object, title: null } },
        { inputSchema: { properties: { b: true }, ...object, title: null } },
        'inputSchema.properties.a must be a schema',
      ],
      [
        { outputSchema: { ...object, required: ['a', 5] } },
        { outputSchema: { ...object, required: ['a'] } },
        'outputSchema.required.1 must be a string',
      ],
    ],
  },
  {
    ...{ method: 'prompts/list', schema: ListPromptsResultSchema, least: prompt },
    more: { arguments: [{ name: 'a', required: true }] },
    malformed: [],
    members: [
      [{ title: null, arguments: null }, {}, ''],
      [{ arguments: {} }, {}, 'arguments must be a list'],
      [
        { arguments: [{}, { name: 'a', description: null, required: 'no' }] },
        { arguments: [{ name: 'a' }] },
        'arguments.1.required must be true or false',
      ],
    ],
  },
  {
    ...{ method: 'resources/list', schema: ListResourcesResultSchema, least: resource },
    more: { size: 5, annotations: { audience: ['user'], priority: 0.5, lastModified: time } },
    malformed: [
      [{ uri: 'x:1' }, 'name is missing'],
      [{ uri: 'x:1', name: null }, 'name must be a string'],
    ],
    members: [
      [{ size: '5', mimeType: 5 }, {}, ''],
      [{ size: Infinity }, {}, 'size must be a number'],
      [{ annotations: { priority: 2 } }, { annotations: {} }, 'annotations.priority must be a number from 0 to 1'],
      [
        { annotations: { audience: ['all', 'user'] } },
        { annotations: { audience: ['user'] } },
        'annotations.audience.0 must',
      ],
      ...['now', '2025-02-29T10:00:00Z', '2025-11-25T10:00:00'].map(
        (lastModified) =>
          [
            { annotations: { lastModified } },
            { annotations: {} },
            'lastModified must be a time with a time zone',
          ] as const,
      ),
    ],
  },
  {
    ...{ method: 'resources/templates/list', schema: ListResourceTemplatesResultSchema, least: template },
    more: { mimeType: 'text/plain' },
    malformed: [[{ uriTemplate: 'x:{id}' }, 'name is missing']],
    members: [[{ description: {}, mimeType: null }, {}, '']],
  },
  {
    ...{ method: 'tasks/list', schema: ListTasksResultSchema, least: task },
    more: { ttl: 5, pollInterval: 5, statusMessage: 'x' },
    malformed: [
      [{ taskId: 't' }, 'createdAt is missing'],
      [{ ...task, status: 'lost' }, 'status must be "working" or'],
      [{ ...task, ttl: '5' }, 'ttl must be a number or null'],
    ],
    members: [[{ pollInterval: null, statusMessage: null }, {}, '']],
  },
];

describe.each(CASES)('$method', ({ method, schema, least, more, malformed, members }) => {
  const kind = LISTS.get(method)!;
  /** The valid part of these entries, and the warnings. */
  const checked = async (...entries: JsonObject[]): Promise<[JsonObject[], string[]]> => {
    const before = JSON.stringify(entries);
    const warnings: string[] = [];
    const valid = await validEntries(kind, entries, (warning) => void warnings.push(warning));
    // A client with a handshake gets tools in the form of its revision, without schemas that are no objects.
    const shown = method === 'tools/list' ? valid.map((entry) => shapeTool(entry, REVISIONS['2025-11-25'])) : valid;
    expect(() => schema.parse({ [kind.key]: shown })).not.toThrow();
    expect(JSON.stringify(entries)).toBe(before);
    return [valid, warnings];
  };

  test('valid entries stay as they are', async () => {
    const entries = [least, { ...least, ...more, unknown: null }];
    const [valid, warnings] = await checked(...entries);
    expect(valid.map((entry, index) => entry === entries[index])).toEqual([true, true]);
    expect(warnings).toEqual([]);
  });

  test.each(malformed)('entries such as %j are left out', async (entry, mistake) => {
    const [valid, [warning, ...others]] = await checked(entry, least, entry);
    expect(valid).toEqual([least]);
    expect(warning).toContain(`returned malformed entries of ${method}, which are left out, such as "`);
    expect(warning).toContain(`": ${mistake}`);
    expect(others).toEqual([]);
  });

  test.each(members)('of entries with %j, only the malformed members are left out', async (given, rest, mistake) => {
    const [valid, [warning, ...others]] = await checked({ ...least, ...given }, least, { ...least, ...given });
    expect(valid).toEqual([{ ...least, ...rest }, least, { ...least, ...rest }]);
    expect(warning).toContain(`returned entries of ${method} with malformed members, which are left out, such as "`);
    expect(warning).toContain(mistake);
    expect(others).toEqual([]);
  });

  test('whatever a member contains, the official client accepts the list', async () => {
    const full: JsonObject = { ...least, ...more };
    const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(null));
    /** The value with something else at one place. */
    const changed = (value: unknown, path: readonly number[], other: unknown): unknown => {
      const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
      const [step, ...others] = path;
      if (step === undefined || names.length === 0) return other;
      const name = names[step % names.length]!;
      const copy: JsonObject = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as JsonObject) };
      copy[name] = changed(copy[name], others, other);
      return copy;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }), odd, async (path, other) => {
        await checked(changed(full, path, other) as JsonObject, full);
      }),
      { numRuns: 300 },
    );
  });
});

test('the warnings name the server, and also an entry that has no name', async () => {
  const list = { tools: [{ title: 'no name' }, 5, { ...tool('x'), title: null }, { name: 'y' }] };
  const server = scripted({ 'tools/list': () => list }, { tools: {} });
  const { fleet, warnings } = fleetOf({ a: server, b: toolServer('b', ['z']) });
  expect(await tools(fleet)).toEqual(['a__x', 'b__z']);
  expect(warnings).toEqual(
    [
      'malformed entries of tools/list, which are left out, such as {"title":"no name"}: name must be a string',
      'malformed entries of tools/list, which are left out, such as "y": inputSchema is missing',
      'entries of tools/list with malformed members, which are left out, such as "x": title must be a string',
    ].map((warning) => `the server "a" returned ${warning}`),
  );
});

test('each mistake of a server is reported once in a minute, also if it makes several', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { service } = scripted(
    { 'tools/list': () => ({ tools: [{ name: 'x' }] }), 'prompts/list': () => ({ prompts: [{ name: 5 }] }) },
    { tools: {}, prompts: {} },
  );
  const { fleet, warnings } = fleetOf({ a: { service }, b: toolServer('b', ['y']) });
  const read = async (): Promise<void> => {
    for (let count = 0; count < 50; count += 1)
      for (const method of ['tools/list', 'prompts/list']) await ask(fleet, method);
  };
  await read();
  const both = [
    'the server "a" returned malformed entries of tools/list, which are left out, such as "x": inputSchema is missing',
    'the server "a" returned malformed entries of prompts/list, which are left out, such as {"name":5}: name must be a string',
  ];
  expect(warnings).toEqual(both);
  vi.advanceTimersByTime(60_000);
  await read();
  expect(warnings).toEqual([...both, ...both]);
});

test('a server that chooses other words each time is reported once in a minute, too', async () => {
  let read = 0;
  const list = (): JsonObject => {
    read += 1;
    return { tools: [{ ...tool(`x${read}`), title: null }, { name: `y${read}` }, { z: read }] };
  };
  const { fleet, warnings } = fleetOf({
    a: scripted({ 'tools/list': list }, { tools: {} }),
    b: toolServer('b', ['z']),
  });
  for (let count = 0; count < 50; count += 1) await ask(fleet, 'tools/list');
  expect(read).toBe(50);
  expect(warnings).toHaveLength(3);
});

test('the entries of a single server are not checked: it affects nobody else', async () => {
  const list = { tools: [{ name: 'y', title: null }] };
  const { fleet, warnings } = fleetOf({ a: scripted({ 'tools/list': () => list }, { tools: {} }) });
  expect(await ask(fleet, 'tools/list')).toMatchObject(list);
  expect(warnings).toEqual([]);
});

describe('capabilities', () => {
  test.each<[given: JsonObject, valid: JsonObject, mistake: string]>([
    [{ logging: 7, tools: {} }, { tools: {} }, 'logging must be an object'],
    [{ completions: 'a' }, {}, 'completions must be an object'],
    [{ prompts: null }, {}, 'prompts must be an object'],
    [{ tools: { listChanged: 'true' } }, { tools: {} }, 'tools.listChanged must be true or false'],
    [
      { resources: { subscribe: true, listChanged: null } },
      { resources: { subscribe: true } },
      'resources.listChanged must be true or false',
    ],
    [{ experimental: { a: 5, b: {} } }, { experimental: { b: {} } }, 'experimental.a must be an object'],
    [{ extensions: { a: { x: 1 }, b: [1] } }, { extensions: { a: { x: 1 } } }, 'extensions.b must be an object'],
    [{ tasks: { requests: 5, list: {} } }, { tasks: { list: {} } }, 'tasks.requests must be an object'],
    [
      { tasks: { requests: { tools: { call: true } } } },
      { tasks: { requests: { tools: {} } } },
      'tasks.requests.tools.call must be an object',
    ],
  ])('%j lose what is malformed, and clients can connect', async (given, valid, mistake) => {
    expect(validCapabilities({ 'x/own': 1, ...given }, () => {})).toEqual({ 'x/own': 1, ...valid });
    const odd = scripted({ 'server/discover': () => ({ capabilities: given }) });
    const { fleet, warnings } = fleetOf({ a: odd, b: scripted({}, { logging: {} }) });
    const described = await ask(fleet, 'server/discover');
    expect(described['capabilities']).toMatchObject({ ...valid, logging: {} });
    const result = { ...described, protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' } };
    expect(() => InitializeResultSchema.parse(result)).not.toThrow();
    expect(warnings).toEqual([`the server "a" declares malformed capabilities, which are left out: ${mistake}`]);
  });

  test('of a single server stay as they are', async () => {
    const capabilities = { logging: 7, experimental: { a: 5 }, completions: null };
    const { fleet, warnings } = fleetOf({ a: scripted({ 'server/discover': () => ({ capabilities }) }) });
    expect((await ask(fleet, 'server/discover'))['capabilities']).toEqual(capabilities);
    expect(warnings).toEqual([]);
  });
});
