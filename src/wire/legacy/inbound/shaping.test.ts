import { describe, expect, test } from 'vitest';
import { RevisionSchema, schemasPresent, violations } from '../../../../test/interop/schema.ts';
import { scripted } from '../../../../test/support/service.ts';
import { hello, served } from '../../../../test/support/wire.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { constant } from '../../../jsonrpc/stringify.ts';
import { Meta } from '../../../protocol/methods.ts';
import { LEGACY_REVISIONS, REVISIONS, type Revision } from '../../../protocol/revisions.ts';
import { toLegacyResult } from '../translate/results.ts';

type Legacy = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25';

/** An object without some of its properties. */
function without<T extends JsonObject>(object: T, ...names: (keyof T)[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

const icons = [{ src: 'https://a.example/icon.png', theme: 'dark' }];
const meta = { 'a.example/own': 1 };
const annotations = { audience: ['user'], priority: 1 };
const dated = { ...annotations, lastModified: '2026-07-28T00:00:00Z' };
const hints = { ttlMs: 1000, cacheScope: 'public', resultType: 'complete' };
const string = { type: 'string' };

const inputSchema = { type: 'object', properties: { a: { ...string, 'x-mcp-header': 'A' }, any: true, no: false } };
const plainInput = { type: 'object', properties: { a: { ...string, 'x-mcp-header': 'A' }, any: {}, no: { not: {} } } };
const tool = {
  name: 'all',
  title: 'All',
  description: 'Does all',
  inputSchema,
  outputSchema: { type: 'object', properties: { r: string } },
  annotations: { readOnlyHint: true },
  icons,
  execution: { taskSupport: 'optional' },
  _meta: meta,
};
const bareTool = { name: 'bare', title: 'Bare', inputSchema: { type: 'object' }, outputSchema: { type: 'array' } };
const resource = {
  uri: 'a://1',
  name: 'one',
  title: 'One',
  description: 'The first',
  mimeType: 'text/plain',
  size: 1,
  annotations: dated,
  icons,
  _meta: meta,
};
const template = { uriTemplate: 'a://{id}', name: 'some', title: 'Some', annotations: dated, icons, _meta: meta };
const argument = { name: 'who', title: 'Who', description: 'Whom to greet', required: true };
const prompt = { name: 'greet', title: 'Greet', description: 'Greets', arguments: [argument], icons, _meta: meta };

const text = { type: 'text', text: 'text', annotations: dated, _meta: meta };
const audio = { type: 'audio', data: '', mimeType: 'audio/wav' };
const link = { ...resource, type: 'resource_link' };
const embedded = {
  type: 'resource',
  resource: { uri: 'a://1', text: 'one', _meta: meta },
  annotations: dated,
  _meta: meta,
};
const image = { type: 'image', data: '', mimeType: 'image/png' };

const serverInfo = {
  name: 'everything',
  version: '1',
  title: 'Everything',
  description: 'Has all',
  icons,
  websiteUrl: 'https://a.example',
};
const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
  completions: {},
  experimental: { 'a.example/own': {} },
  tasks: { list: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

const color = { title: 'Color', description: 'Of the wall' };
const options = [
  { const: 'r', title: 'Red' },
  { const: 'b', title: 'Blue' },
];
const requestedSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    name: { ...string, minLength: 1, default: 'Ada' },
    age: { type: 'integer', minimum: 0, default: 36 },
    sure: { type: 'boolean', default: true },
    color: { ...string, ...color, oneOf: options, default: 'r' },
    size: { ...string, enum: ['s', 'm'], default: 's' },
    walls: { type: 'array', ...color, items: { anyOf: options }, default: ['b'] },
    doors: { type: 'array', items: { ...string, enum: ['in', 'out'] }, minItems: 1 },
  },
  required: ['name', 'walls'],
};
const boolean = (title: string, more: JsonObject = {}): JsonObject => ({ type: 'boolean', title, ...more });
const plainSchema = {
  type: 'object',
  properties: {
    name: { ...string, minLength: 1 },
    age: { type: 'integer', minimum: 0 },
    sure: { type: 'boolean', default: true },
    color: { ...string, ...color, enum: ['r', 'b'], enumNames: ['Red', 'Blue'] },
    size: { ...string, enum: ['s', 'm'] },
    'walls.r': boolean('Color: Red', { description: 'Of the wall', default: false }),
    'walls.b': boolean('Color: Blue', { description: 'Of the wall', default: true }),
    'doors.in': boolean('doors: in'),
    'doors.out': boolean('doors: out'),
  },
  required: ['name'],
};
const form = { mode: 'form', message: 'Fill in', requestedSchema, _meta: meta };
const visit = { mode: 'url', message: 'Go there', url: 'https://a.example' };
const named = { ...visit, elicitationId: expect.any(String) };
const look = { type: 'text', text: 'Look', annotations: dated };
const reply = { role: 'assistant', content: { type: 'text', text: 'I see' } };
const toModel = {
  messages: [{ role: 'user', content: [look, image, audio] }, reply],
  maxTokens: 10,
};

/** A server that uses every feature, in the newest revision and in the form that a server behind a bridge may use. */
const { service } = scripted({
  'server/discover': () => ({
    ...hints,
    supportedVersions: ['2026-07-28'],
    capabilities,
    instructions: 'Use it',
    _meta: { [Meta.ServerInfo]: serverInfo },
  }),
  'tools/list': () => ({ ...hints, tools: [tool, bareTool], nextCursor: 'c' }),
  'resources/list': () => ({ ...hints, resources: [resource] }),
  'resources/templates/list': () => ({ ...hints, resourceTemplates: [template] }),
  'prompts/list': () => ({ ...hints, prompts: [prompt] }),
  'prompts/get': () => ({
    resultType: 'complete',
    description: 'd',
    messages: [text, audio, link, embedded].map((content) => ({ role: 'user', content })),
  }),
  'resources/read': () => ({ ...hints, contents: [{ uri: 'a://1', text: 'one', _meta: meta }] }),
  'completion/complete': () => ({ resultType: 'complete', completion: { values: ['Ada'], total: 1, hasMore: false } }),
  'tools/call': async (exchange) => {
    const { name } = exchange.params;
    const { notify, ask } = {
      notify: (method: string, params: JsonObject) => exchange.notify(method, params),
      ask: async (method: string, params: JsonObject) => ({
        content: [{ type: 'text', text: JSON.stringify(await exchange.ask(method, params)) }],
      }),
    };
    switch (name) {
      case 'content':
        return { content: [text, audio, link, embedded], isError: false, _meta: meta };
      case 'structured':
        return { resultType: 'complete', content: [image], structuredContent: { r: 'x' } };
      case 'array':
        return { content: [], structuredContent: [1, 2] };
      case 'notices':
        await notify('notifications/progress', {
          progressToken: 'p',
          progress: 1,
          total: 2,
          message: 'half',
          _meta: meta,
        });
        await notify('notifications/message', { level: 'info', logger: 'l', data: { a: 1 } });
        await notify('notifications/resources/updated', { uri: 'a://1' });
        await notify('notifications/tools/list_changed', {});
        await notify('notifications/elicitation/complete', { elicitationId: 'e' });
        await notify('notifications/tasks', { taskId: 't', status: 'working' });
        await notify('notifications/subscriptions/acknowledged', { notifications: {} });
        return { content: [] };
      case 'form':
        return ask('elicitation/create', form);
      case 'visit':
        return ask('elicitation/create', visit);
      case 'sample':
        return ask('sampling/createMessage', toModel);
      case 'roots':
        return ask('roots/list', {});
      default:
        throw new RpcError(...(refusals[name] ?? [-32602, 'Unknown tool']));
    }
  },
});

const refusals: Record<string, ConstructorParameters<typeof RpcError>> = {
  header: [-32020, 'header'],
  capability: [-32021, 'capability', { data: { requiredCapabilities: { sampling: {} } } }],
  version: [-32022, 'version'],
  go: [-32042, 'go', { data: { elicitations: [visit] } }],
};

const answers: Record<string, JsonObject> = {
  'elicitation/create': {
    action: 'accept',
    content: { name: 'Ada', 'walls.r': true, 'walls.b': false, 'doors.in': false, 'doors.out': false },
  },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } },
  'roots/list': { roots: [{ uri: 'file:///a' }] },
};

interface InputRounds {
  readonly sent: JsonObject[];
  readonly received: JsonObject[];
  /** The response to the request with the given id. */
  answer(id: string): JsonObject;
  questions(method: string): JsonObject[];
}

const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];
const CALLS = [
  'content',
  'structured',
  'array',
  'notices',
  'form',
  'visit',
  'sample',
  'roots',
  ...Object.keys(refusals),
];

/** Requests everything that a server has, in a given revision, and answers its questions. */
async function conversation(revision: Revision): Promise<InputRounds> {
  const { client } = await served(service);
  const sent: JsonObject[] = [];
  const received: JsonObject[] = [];
  const send = async (message: JsonObject): Promise<void> => {
    sent.push(message);
    await client.send(message);
    const come: JsonObject[] = client.take();
    received.push(...come);
    for (const { id, method } of come)
      if (method !== undefined && id !== undefined) await send({ id, result: answers[method] });
  };
  const able = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
  await send({ id: 'initialize', method: 'initialize', params: hello(revision, able) });
  await send({ method: 'notifications/initialized' });
  for (const method of LISTS) await send({ id: method, method });
  await send({ id: 'get', method: 'prompts/get', params: { name: 'greet' } });
  await send({ id: 'read', method: 'resources/read', params: { uri: 'a://1' } });
  const ref = { type: 'ref/prompt', name: 'greet' };
  await send({
    id: 'complete',
    method: 'completion/complete',
    params: { ref, argument: { name: 'who', value: 'A' } },
  });
  for (const name of CALLS) await send({ id: name, method: 'tools/call', params: { name } });
  return {
    sent,
    received,
    answer: (id) => received.find((message) => message['id'] === id && !('method' in message))!,
    questions: (method) =>
      received.filter((message) => message['method'] === method).map((message) => message['params']),
  };
}

const conversations = new Map<Revision, Promise<InputRounds>>();
function inRevision(revision: Revision): Promise<InputRounds> {
  if (!conversations.has(revision)) conversations.set(revision, conversation(revision));
  return conversations.get(revision)!;
}

if (!schemasPresent) console.info('Skipped: the schemas of the specification are not at ../shared/spec.');

test.skipIf(!schemasPresent).each(LEGACY_REVISIONS)('%s gets only what its schema defines', async (revision) => {
  const { sent, received } = await inRevision(revision);
  expect(received.length).toBeGreaterThan(20);
  expect(violations(new RevisionSchema(revision, { strict: true }), 'server', received, sent)).toEqual([]);
});

test.skipIf(!schemasPresent).each<[Revision, string, JsonObject, string]>([
  ['2024-11-05', 'tools/list', { tools: [without(bareTool, 'outputSchema')] }, 'additional properties'],
  ['2025-06-18', 'tools/list', { tools: [without(tool, 'icons')] }, 'additional properties'],
  ['2025-11-25', 'tools/list', { tools: [tool] }, 'properties/any must be object'],
  ['2025-03-26', 'resources/list', { resources: [without(resource, 'icons', 'title')] }, 'annotations must NOT'],
  ['2025-06-18', 'tools/call', { content: [link] }, 'additional properties'],
  ['2025-11-25', 'initialize', opened('2025-11-25', [], [], { extensions: {} }), 'capabilities must NOT'],
])('a strict check for %s finds an invalid result of %s', (revision, method, result, wrong) => {
  const schema = new RevisionSchema(revision, { strict: true });
  const message = { jsonrpc: '2.0', id: 1, result };
  expect(schema.check(message, 'server', () => ({ method, params: {} }))).toContain(wrong);
});

test.skipIf(!schemasPresent).each<[Revision, string, JsonObject]>([
  ['2024-11-05', 'notifications/progress', { progressToken: 'p', progress: 1, message: 'half' }],
  ['2025-06-18', 'elicitation/create', without(form, 'mode')],
  ['2025-06-18', 'elicitation/create', { ...form, requestedSchema: plainSchema }],
  ['2025-11-25', 'elicitation/create', visit],
  ['2025-06-18', 'sampling/createMessage', toModel],
])('a strict check for %s finds an invalid %s', (revision, method, params) => {
  const id = method.startsWith('notifications/') ? {} : { id: 1 };
  const schema = new RevisionSchema(revision, { strict: true });
  expect(schema.check({ jsonrpc: '2.0', ...id, method, params }, 'server', () => undefined)).toBeDefined();
});

type Table = Record<Legacy, unknown>;
/** A row with one value for the first two revisions, one for the third, and one for the fourth. */
const rows = (first: unknown, third: unknown, fourth: unknown): Table => ({
  '2024-11-05': first,
  '2025-03-26': first,
  '2025-06-18': third,
  '2025-11-25': fourth,
});

const plainText = { ...text, annotations };
const plainEmbedded = { ...embedded, annotations };
const linked = { type: 'text', text: 'one: a://1', annotations };
const audioAsText = { type: 'text', text: '[audio, audio/wav]' };
const content: Table = {
  '2024-11-05': [plainText, audioAsText, linked, plainEmbedded],
  '2025-03-26': [plainText, audio, linked, plainEmbedded],
  '2025-06-18': [text, audio, without(link, 'icons'), embedded],
  '2025-11-25': [text, audio, link, embedded],
};
const json = (value: unknown): JsonObject => ({ type: 'text', text: JSON.stringify(value) });
const namedTool = { ...tool, inputSchema: plainInput };
const plainTool = without(namedTool, 'icons', 'execution', 'title', 'outputSchema');
const namedBare = without(bareTool, 'outputSchema');

const results: [what: string, id: string, expected: Table][] = [
  [
    'tools',
    'tools/list',
    {
      '2024-11-05': {
        tools: [without(plainTool, 'annotations'), without(namedBare, 'title')],
        nextCursor: 'c',
      },
      '2025-03-26': {
        tools: [
          { ...plainTool, annotations: { title: 'All', readOnlyHint: true } },
          { ...without(namedBare, 'title'), annotations: { title: 'Bare' } },
        ],
        nextCursor: 'c',
      },
      '2025-06-18': { tools: [without(namedTool, 'icons', 'execution'), namedBare], nextCursor: 'c' },
      '2025-11-25': { tools: [namedTool, namedBare], nextCursor: 'c' },
    },
  ],
  [
    'resources',
    'resources/list',
    rows(
      { resources: [{ ...without(resource, 'icons', 'title'), annotations }] },
      { resources: [without(resource, 'icons')] },
      { resources: [resource] },
    ),
  ],
  [
    'resource templates',
    'resources/templates/list',
    rows(
      { resourceTemplates: [{ ...without(template, 'icons', 'title'), annotations }] },
      { resourceTemplates: [without(template, 'icons')] },
      { resourceTemplates: [template] },
    ),
  ],
  [
    'prompts',
    'prompts/list',
    rows(
      { prompts: [{ ...without(prompt, 'icons', 'title'), arguments: [without(argument, 'title')] }] },
      { prompts: [without(prompt, 'icons')] },
      { prompts: [prompt] },
    ),
  ],
  [
    'content',
    'content',
    Object.fromEntries(
      Object.entries(content).map(([revision, blocks]) => [revision, { content: blocks, isError: false, _meta: meta }]),
    ) as Table,
  ],
  [
    'the messages of a prompt',
    'get',
    Object.fromEntries(
      Object.entries(content).map(([revision, blocks]) => [
        revision,
        { description: 'd', messages: (blocks as JsonObject[]).map((block) => ({ role: 'user', content: block })) },
      ]),
    ) as Table,
  ],
  [
    'structured content',
    'structured',
    rows(
      { content: [image, json({ r: 'x' })] },
      { content: [image], structuredContent: { r: 'x' } },
      { content: [image], structuredContent: { r: 'x' } },
    ),
  ],
  [
    'a structured array',
    'array',
    rows({ content: [json([1, 2])] }, { content: [json([1, 2])] }, { content: [json([1, 2])] }),
  ],
  ['the contents of a resource', 'read', same({ contents: [{ uri: 'a://1', text: 'one', _meta: meta }] })],
  ['completions', 'complete', same({ completion: { values: ['Ada'], total: 1, hasMore: false } })],
  [
    'the server',
    'initialize',
    {
      '2024-11-05': opened('2024-11-05', ['completions', 'tasks'], ['title', 'description', 'icons', 'websiteUrl']),
      '2025-03-26': opened('2025-03-26', ['tasks'], ['title', 'description', 'icons', 'websiteUrl']),
      '2025-06-18': opened('2025-06-18', ['tasks'], ['description', 'icons', 'websiteUrl']),
      '2025-11-25': opened('2025-11-25', [], []),
    },
  ],
];

function same(value: unknown): Table {
  return rows(value, value, value);
}

function opened(
  revision: Legacy,
  lost: (keyof typeof capabilities)[],
  unnamed: (keyof typeof serverInfo)[],
  more: JsonObject = {},
): JsonObject {
  return {
    protocolVersion: revision,
    capabilities: { ...without(capabilities, 'extensions', ...lost), ...more },
    serverInfo: without(serverInfo, ...unnamed),
    instructions: 'Use it',
  };
}

test.each(LEGACY_REVISIONS)('%s gets extensions, except tasks', async (revision) => {
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } };
  const { service: extended } = scripted({}, { extensions: { ...ui, ...capabilities.extensions } });
  const { client } = await served(extended);
  const { result } = await client.request(1, 'initialize', hello(revision));
  expect(result.capabilities).toEqual({ extensions: ui });
});

describe.each(Object.keys(content) as Legacy[])('in %s', (revision) => {
  test.each(results)('the form of the revision is used for %s', async (_, id, expected) => {
    expect((await inRevision(revision)).answer(id)).toEqual({ jsonrpc: '2.0', id, result: expected[revision] });
  });

  test('notifications of later revisions are not sent', async () => {
    const { received } = await inRevision(revision);
    const notices = received.filter(({ method, id }) => method !== undefined && id === undefined);
    const progress = { progressToken: 'p', progress: 1, total: 2, message: 'half', _meta: meta };
    expect(notices).toEqual(
      [
        ['notifications/progress', revision === '2024-11-05' ? without(progress, 'message') : progress],
        ['notifications/message', { level: 'info', logger: 'l', data: { a: 1 } }],
        ['notifications/resources/updated', { uri: 'a://1' }],
        ['notifications/tools/list_changed', {}],
        ...(revision === '2025-11-25' ? [['notifications/elicitation/complete', { elicitationId: 'e' }]] : []),
      ].map(([method, params]) => ({ jsonrpc: '2.0', method, params })),
    );
  });

  test('error codes of later revisions become the nearest codes of this revision', async () => {
    const { answer } = await inRevision(revision);
    expect(answer('header')['error']).toEqual({ code: -32600, message: 'header' });
    expect(answer('capability')['error']).toMatchObject({ code: -32601, data: { requiredCapabilities: {} } });
    expect(answer('version')['error']).toEqual({ code: -32602, message: 'version' });
    const newest = revision === '2025-11-25';
    const elicitations = newest ? [named] : [visit];
    expect(answer('go')['error']).toEqual({ code: newest ? -32042 : -32603, message: 'go', data: { elicitations } });
  });

  test('questions have the form of its revision', async () => {
    const { questions, answer } = await inRevision(revision);
    const expectedQuestions = {
      '2024-11-05': [],
      '2025-03-26': [],
      '2025-06-18': [{ message: 'Fill in', requestedSchema: plainSchema, _meta: meta }],
      '2025-11-25': [form, named],
    };
    expect(questions('elicitation/create')).toEqual(expectedQuestions[revision]);
    expect(answer('visit')['error']?.code).toBe(expectedQuestions[revision].length < 2 ? -32601 : undefined);
    expect(questions('roots/list')).toEqual([{}]);
  });

  test('a sampling message with several blocks becomes one message for each block, if the revision has one block only', async () => {
    const { questions } = await inRevision(revision);
    const first = revision < '2025-06-18' ? { ...look, annotations } : look;
    const last = revision === '2024-11-05' ? audioAsText : audio;
    const apart = [first, image, last].map((part) => ({ role: 'user', content: part }));
    const messages = revision === '2025-11-25' ? toModel.messages : [...apart, reply];
    expect(questions('sampling/createMessage')).toEqual([{ ...toModel, messages }]);
  });
});

test('the answers to a simplified form are converted to those of the original form', async () => {
  const { answer } = await inRevision('2025-06-18');
  expect(JSON.parse(answer('form')['result'].content[0].text)).toEqual({
    action: 'accept',
    content: { name: 'Ada', walls: ['r'] },
  });
});

test.each([...LEGACY_REVISIONS])('a constant list is converted once for %s, and any other each time', (revision) => {
  const profile = REVISIONS[revision];
  const list = constant({ ...hints, tools: [tool] });
  const shaped = toLegacyResult(list, 'tools/list', profile);
  expect(toLegacyResult(list, 'tools/list', profile)).toBe(shaped);
  expect(shaped['tools'][0].execution === undefined).toBe(revision < '2025-11-25');
  const open = { tools: [] as JsonObject[] };
  expect(toLegacyResult(open, 'tools/list', profile)).toBe(open);
  open.tools.push(tool);
  expect(toLegacyResult(open, 'tools/list', profile)['tools'][0]).not.toBe(tool);
});

test('a message converted for one client is not changed for another', async () => {
  await Promise.all(LEGACY_REVISIONS.map(inRevision));
  expect(tool).toHaveProperty('execution');
  expect(text.annotations).toBe(dated);
  expect(requestedSchema.properties.color.oneOf).toBe(options);
});

test('results of unknown methods, and unknown properties, pass unchanged', () => {
  const profile = REVISIONS['2024-11-05'];
  const odd = { tools: [tool], content: [link], title: 'x' };
  expect(toLegacyResult(odd, 'vendor/odd', profile)).toBe(odd);
  const owned = { tools: [{ name: 'own', inputSchema: { type: 'object' }, 'a.example/own': 1 }] };
  expect(toLegacyResult(owned, 'tools/list', profile)).toBe(owned);
});

test('a result type of a later revision is an error', () => {
  const task = { resultType: 'task', taskId: 't' };
  expect(() => toLegacyResult(task, 'tools/call', REVISIONS['2025-11-25'])).toThrow(/of type "task"/);
});
