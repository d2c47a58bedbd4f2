import type { Revision } from '../../../src/protocol/revisions.ts';

type JsonObject = Record<string, any>;

/** An error response of a server. */
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}

export const ICONS = [{ src: 'data:image/png;base64,AAAA', mimeType: 'image/png', sizes: ['1x1'] }];
export const META = { 'example.com/kept': [1, { two: true }] };
export const WEATHER = { temperature: 21, conditions: 'sunny' };
export const CITIES = ['Paris', 'Oslo'];
export const LINK = { type: 'resource_link', uri: 'world://fixed', name: 'fixed' };
export const AUDIO = { type: 'audio', data: 'AAEC', mimeType: 'audio/wav' };
export const VISIT_URL = 'https://example.com/sign-in';

const NO_INPUT = { type: 'object', properties: {} };
const TOOLS = [
  ...[
    'weather',
    'cities',
    'contents',
    'count',
    'wait',
    'ask',
    'choose',
    'visit',
    'sample',
    'sample-with-tools',
    'roots',
  ],
  ...['fail', 'refuse', 'demand', 'who'],
];

export const text = (value: unknown): JsonObject => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

export const grown = (name: string): JsonObject => ({ name, inputSchema: NO_INPUT });

/** All features of the revision. */
export function tools(revision: Revision): JsonObject[] {
  const properties = (...names: string[]): JsonObject => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  });
  const region = { type: 'string', 'x-mcp-header': 'Region' };
  const output: JsonObject = {};
  if (revision >= '2025-06-18') {
    const object = { temperature: { type: 'number' }, conditions: { type: 'string' } };
    output['weather'] = { outputSchema: { type: 'object', properties: object, required: ['temperature'] } };
  }
  if (revision >= '2026-07-28') {
    output['cities'] = { outputSchema: { type: 'array', items: { type: 'string' } } };
  }
  return [
    {
      name: 'echo',
      description: 'Says the same',
      inputSchema: properties('word'),
      _meta: META,
      ...(revision >= '2025-03-26' && { annotations: { readOnlyHint: true } }),
      ...(revision >= '2025-06-18' && { title: 'Echo' }),
      ...(revision >= '2025-11-25' && { icons: ICONS }),
    },
    { name: 'speak', inputSchema: properties('word') },
    { name: 'grow', inputSchema: properties('name') },
    { name: 'touch', inputSchema: properties('uri') },
    { name: 'region', inputSchema: { type: 'object', properties: { region } } },
    ...TOOLS.map((name) => Object.assign({ name, inputSchema: NO_INPUT }, output[name])),
  ];
}

/** The results of tools that answer without asking. */
export function results(revision: Revision): JsonObject {
  const contents: JsonObject[] = [
    { type: 'text', text: 'text' },
    { type: 'image', data: 'AAEC', mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'world://fixed', mimeType: 'text/plain', text: 'A text.' } },
  ];
  if (revision >= '2025-03-26') contents.push(AUDIO);
  if (revision >= '2025-06-18') contents.push(LINK);
  return {
    weather: { ...text(WEATHER), ...(revision >= '2025-06-18' && { structuredContent: WEATHER }) },
    cities: { ...text(CITIES), ...(revision >= '2026-07-28' && { structuredContent: CITIES }) },
    contents: { content: contents },
    fail: { ...text('as it should'), isError: true },
  };
}

export const FORM = {
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'Name' } }, required: ['name'] },
};

export const CHOICES = {
  message: 'Which ones?',
  requestedSchema: {
    type: 'object',
    properties: {
      size: {
        type: 'string',
        oneOf: [
          { const: 's', title: 'Small' },
          { const: 'l', title: 'Large' },
        ],
      },
      colors: { type: 'array', items: { type: 'string', enum: ['red', 'blue'] } },
    },
    required: ['size'],
  },
};

const MESSAGES = [{ role: 'user', content: { type: 'text', text: 'Say something' } }];
export const HAMMER = { name: 'hammer', description: 'Hits', inputSchema: { type: 'object', properties: {} } };

/** The questions of tools, by tool name. */
export function questions(revision: Revision): Record<string, { method: string; params: JsonObject }> {
  const visit = { mode: 'url', message: 'Please sign in', url: VISIT_URL };
  const id = revision === '2025-11-25' ? { elicitationId: 'visit-1' } : {};
  return {
    sample: {
      method: 'sampling/createMessage',
      params: { messages: MESSAGES, maxTokens: 9, systemPrompt: 'Be brief' },
    },
    roots: { method: 'roots/list', params: {} },
    ...(revision >= '2025-06-18' && { ask: { method: 'elicitation/create', params: FORM } }),
    ...(revision >= '2025-11-25' && {
      choose: { method: 'elicitation/create', params: CHOICES },
      visit: { method: 'elicitation/create', params: { ...visit, ...id } },
      'sample-with-tools': {
        method: 'sampling/createMessage',
        params: { messages: MESSAGES, maxTokens: 9, tools: [HAMMER], toolChoice: { mode: 'auto' } },
      },
    }),
  };
}

/** @throws Refusal for tools that always fail, and for unknown tools */
export function fail(name: string): never {
  if (name === 'refuse') throw new Refusal(-32050, 'Not today', { until: 'tomorrow' });
  if (name === 'demand') {
    const elicitations = [{ mode: 'url', message: 'Sign in', url: VISIT_URL, elicitationId: 'visit-2' }];
    throw new Refusal(-32042, 'Sign in first', { elicitations });
  }
  throw new Refusal(-32602, `Unknown tool: ${name}`);
}

export function resources(revision: Revision): JsonObject[] {
  const icons = revision >= '2025-11-25' ? { icons: ICONS } : {};
  return [
    { uri: 'world://fixed', name: 'fixed', mimeType: 'text/plain', _meta: META, ...icons },
    { uri: 'world://bytes', name: 'bytes', mimeType: 'application/octet-stream' },
  ];
}

/** How long a list may be cached, and by whom. */
export const HINTS = { ttlMs: 5000, cacheScope: 'public' };

export const templates = [{ uriTemplate: 'world://item/{id}', name: 'item', mimeType: 'text/plain' }];

export function read(uri: string, revision: Revision): JsonObject {
  if (uri === 'world://fixed') return { contents: [{ uri, mimeType: 'text/plain', text: 'A text.', _meta: META }] };
  if (uri === 'world://bytes') return { contents: [{ uri, mimeType: 'application/octet-stream', blob: 'AAEC' }] };
  const [, id] = /^world:\/\/item\/(\d+)$/.exec(uri) ?? [];
  if (id !== undefined) return { contents: [{ uri, mimeType: 'text/plain', text: `Item ${id}` }] };
  // The same error in every revision, with the revision's own code.
  throw new Refusal(revision >= '2026-07-28' ? -32602 : -32002, `Resource not found: ${uri}`, { uri });
}

export const VERBS = ['Greet', 'Thank', 'Praise'];

/** Each prompt is on its own page. */
export function promptPage(cursor: unknown): JsonObject {
  const index = Number(cursor ?? 0);
  const verb = VERBS[index];
  if (verb === undefined) throw new Refusal(-32602, 'There is no such page');
  const prompts = [{ name: verb.toLowerCase(), arguments: [{ name: 'name', required: true }] }];
  return index + 1 < VERBS.length ? { prompts, nextCursor: String(index + 1) } : { prompts };
}

export function prompt(name: string, { name: whom }: JsonObject): JsonObject {
  const verb = VERBS.find((each) => each.toLowerCase() === name);
  if (verb === undefined) throw new Refusal(-32602, `Unknown prompt: ${name}`);
  return { messages: [{ role: 'user', content: { type: 'text', text: `${verb} ${whom}.` } }] };
}

export function completion({ value }: JsonObject): JsonObject {
  const values = ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(value));
  return { completion: { values, total: values.length, hasMore: false } };
}
