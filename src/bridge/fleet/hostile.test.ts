import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { tool } from '../../../test/support/fleet.ts';
import { scripted } from '../../../test/support/service.ts';
import { TestExchange } from '../../../test/support/exchange.ts';
import type { Service } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet } from './fleet.ts';

/** Values that look like parts of a message, but are not valid. */
const odd = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  fc.constantFrom(undefined, null, '', '__proto__', Number.NaN, [null], [[]], {}, { uri: 1 }, { uri: 'x:1' }),
);
const keys = [
  ...['tools', 'prompts', 'resources', 'resourceTemplates', 'tasks', 'nextCursor', 'ttlMs', 'cacheScope', '_meta'],
  ...[
    'capabilities',
    'instructions',
    'contents',
    'content',
    'messages',
    'structuredContent',
    'resultType',
    'requestState',
  ],
  ...['inputRequests', 'task', 'taskId', 'result', 'completion', 'name', 'uri', 'uriTemplate', 'type', 'resource'],
];
const entry = fc.dictionary(
  fc.constantFrom(...keys),
  fc.oneof(odd, fc.constantFrom('a', 'good', 'x:1', 'resource_link')),
);
const result: fc.Arbitrary<unknown> = fc.oneof(
  odd,
  fc.dictionary(fc.constantFrom(...keys), fc.oneof(odd, fc.array(entry, { maxLength: 3 }), entry)),
);

/** A server that answers, notifies, asks or throws random values. */
function evil(answers: readonly unknown[]): Service {
  let next = 0;
  const take = (): unknown => answers[(next += 1) % answers.length];
  return (async (exchange) => {
    const [noticeParams, answer] = [take(), take()];
    await exchange.notify('notifications/message', noticeParams as JsonObject);
    await exchange.notify('notifications/tools/list_changed', noticeParams as JsonObject);
    await exchange.notify('notifications/resources/updated', noticeParams as JsonObject);
    if (next % 7 === 0) throw answer;
    return answer;
  }) as Service;
}

const METHODS: readonly [string, JsonObject][] = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['tasks/list', {}],
  ['tools/call', { name: 'evil__x' }],
  ['tools/call', { name: 'a' }],
  ['prompts/get', { name: 'a' }],
  ['resources/read', { uri: 'x:1' }],
  ['resources/read', { uri: 'everwire+evil:x:1' }],
  ['completion/complete', { ref: { type: 'ref/resource', uri: 'x:{y}' } }],
  ['tasks/get', { taskId: 'evil:1' }],
  ['notifications/roots/list_changed', {}],
];

test('a server with arbitrary answers affects only itself', async () => {
  const { service } = scripted(
    {
      'tools/list': () => ({ tools: [tool('good')] }),
      'tools/call': () => ({ content: ['well'] }),
      'resources/list': () => ({ resources: [{ uri: 'good:1', name: 'x' }] }),
      'resources/read': ({ params }) => ({ contents: [{ uri: params['uri'] }] }),
    },
    { tools: {}, resources: {} },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(result, { minLength: 1, maxLength: 12 }), async (answers) => {
      const members = [
        { name: 'evil', service: evil(answers) },
        { name: 'good', service },
      ];
      const fleet = createFleet({ members, timeout: 200 });
      const send = (method: string, params: JsonObject = {}): Promise<JsonObject> =>
        fleet.service(new TestExchange(method, params));
      const filter = { toolsListChanged: true, resourceSubscriptions: ['x:1', 'everwire+evil:x:2'] };
      const listener = new TestExchange('subscriptions/listen', { notifications: filter });
      const listening = fleet.service(listener);
      for (const [method, params] of METHODS) {
        // The caller of a service turns what it throws into an error response.
        const answered: unknown = await send(method, params).catch(() => ({}));
        expect(typeof answered, method).toBe('object');
      }
      const { tools } = await send('tools/list');
      const names: string[] = tools.map(({ name }: { name: string }) => name);
      expect(names).toContain('good__good');
      expect(await send('tools/call', { name: 'good__good' })).toEqual({ content: ['well'] });
      const { contents } = await send('resources/read', { uri: 'everwire+good:good:1' });
      expect(contents).toHaveLength(1);
      listener.abort();
      expect(await listening).toEqual({});
    }),
    { numRuns: 300 },
  );
});

test('an entry with more than 100 members is left out of a list', async () => {
  const members = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 1]));
  const tools = [
    { ...tool('wide'), ...members(99) },
    { ...tool('good'), ...members(98) },
  ];
  const { service } = scripted({ 'tools/list': () => ({ tools }) }, { tools: {} });
  const fleet = createFleet({
    members: [
      { name: 'one', service },
      { name: 'two', service: scripted().service },
    ],
  });
  const listed = await fleet.service(new TestExchange('tools/list'));
  expect(listed['tools'].map(({ name }: { name: string }) => name)).toEqual(['one__good']);
});

test.each<[string, JsonObject[]]>([
  ['16 MB', [{ ...tool('large'), description: 'd'.repeat(16_700_000) }]],
  ['16 MB of text with escapes', [{ ...tool('large'), description: '\u0001'.repeat(2_780_000) }]],
  ['199,000 keys and values', Array.from({ length: 28_500 }, (_, n) => tool(`t${n}`))],
])('the list of a server with %s does not keep clients from reading those of others', async (_, tools) => {
  const warnings: string[] = [];
  const server = (own: JsonObject[]) => scripted({ 'tools/list': () => ({ tools: own }) }, { tools: {} }).service;
  const large = { name: 'large', service: server(tools) };
  const fleet = createFleet({
    members: [
      large,
      { name: 'good', service: server([tool('echo')]) },
      { name: 'other', service: server(Array.from({ length: 1000 }, (_each, n) => tool(`t${n}`))) },
    ],
    onwarning: (warning) => warnings.push(warning),
  });
  const { tools: listed, _meta } = await fleet.service(new TestExchange('tools/list'));
  expect(listed.map(({ name }: JsonObject) => name)).toContain('good__echo');
  expect(listed).toHaveLength(1001);
  expect(_meta).toEqual({ 'dev.everwire/missing': ['large'] });
  expect(warnings).toEqual([expect.stringContaining('the server "large" returned too much of tools/list')]);
  // Alone, it affects no other server.
  const alone = createFleet({ members: [large] });
  expect((await alone.service(new TestExchange('tools/list')))['tools']).toHaveLength(tools.length);
});
