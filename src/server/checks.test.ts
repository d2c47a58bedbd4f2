import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SETTINGS } from './checks.ts';
import { McpServer, type McpServerOptions } from './mcp-server.ts';
import type { PromptConfig } from './prompts.ts';
import type { ResourceConfig, TemplateConfig } from './resources.ts';
import type { ToolConfig } from './tools.ts';

const make = (options: object = {}) => new McpServer({ name: 'test', version: '1', ...options });
/** For calls without type checks. */
const loose = (): Record<string, (...given: unknown[]) => unknown> => {
  const server = make();
  return {
    tool: server.tool.bind(server) as () => unknown,
    prompt: server.prompt.bind(server) as () => unknown,
    resource: server.resource.bind(server) as () => unknown,
    resourceTemplate: server.resourceTemplate.bind(server) as () => unknown,
  };
};
const handler = (): string => 'x';

describe.each([
  ['tool', 'x'],
  ['prompt', 'x'],
  ['resource', 'a://x'],
  ['resourceTemplate', 'a://{x}'],
])('%s', (method, name) => {
  test.each([
    [
      'without a config',
      [name, handler],
      `needs a config before its handler, at least {}, not function: ${method}("${name}", { … }, handler)`,
    ],
    ['with null as config', [name, null, handler], 'needs a config before its handler, at least {}, not null'],
    ['without a handler', [name, { name: 'x' }], 'needs a function as its handler, not undefined'],
    ['with a handler that is not a function', [name, { name: 'x' }, 'x'], 'needs a function as its handler, not "x"'],
    ['with an empty name', ['', { name: 'x' }, handler], 'needs a non-empty name, not ""'],
    ['without a name', [{ name: 'x' }, handler], 'needs a non-empty name, not object'],
  ])('%s causes an error that names the right form', (_, given, message) => {
    const call = () => loose()[method]!(...given);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(`${method}() ${message}`);
  });
});

test.each(['x', '/notes', 'notes.txt', '://x'])('a resource cannot be registered as %j, which is not a URI', (uri) => {
  expect(() => make().resource(uri, { name: 'x' }, handler)).toThrow(
    new TypeError(`"${uri}" is not a URI; add a scheme, for example file:///notes.txt or notes://all`),
  );
});

test.each([[['all', 'x://all', handler]], [['all', 'x://all', {}, handler]]])(
  'a resource in the order of the official SDK is refused, and the error shows the right order',
  (given) => {
    expect(() => loose()['resource']!(...given)).toThrow(
      new TypeError('resource() takes the URI before the name: resource("x://all", { name: "all" }, handler)'),
    );
  },
);

test.each([
  [undefined, 'McpServer needs its options, not undefined'],
  [{ name: 'x' }, 'McpServer needs a version, not undefined'],
  [{ version: '1' }, 'McpServer needs a name, not undefined'],
  [{ name: 'x', version: 1 }, 'McpServer needs a version, not number'],
])('new McpServer(%j) is refused, and the error shows the right form', (options, message) => {
  expect(() => new McpServer(options as McpServerOptions)).toThrow(
    new TypeError(`${message}: new McpServer({ name: '…', version: '…' })`),
  );
});

test.each([
  ['tool', 'inputSchema', 'input'],
  ['tool', 'outputSchema', 'output'],
  ['tool', 'descripton', 'description'],
  ['prompt', 'argsSchema', 'arguments'],
  ['resource', 'mimetype', 'mimeType'],
  ['resourceTemplate', 'lists', 'list'],
])('the unknown setting of a %s %s is refused, and %s is suggested', (method, given, meant) => {
  const uri = 'a://{x}';
  const settings = method === 'tool' || method === 'prompt' ? { [given]: {} } : { name: 'x', [given]: {} };
  expect(() => loose()[method]!(uri, settings, handler)).toThrow(
    new TypeError(`${method} "${uri}" has no setting ${given}; did you mean ${meant}?`),
  );
});

test('an unknown setting that resembles no other is refused with a list of the settings', () => {
  expect(() => loose()['prompt']!('x', { quux: 1 }, handler)).toThrow(/has no setting quux; the settings are title, /);
});

test.each([[{ x: z.string() }], [z.object({ x: z.string() })]])(
  'a prompt with schemas as arguments is refused',
  (given) => {
    expect(() => loose()['prompt']!('x', { arguments: given }, handler)).toThrow(
      /\{ description, required \}, not by a schema/,
    );
  },
);

test.each([
  ['instruction', 'instructions'],
  ['onError', 'onerror'],
  ['websiteURL', 'websiteUrl'],
  ['pagesize', 'pageSize'],
  ['stateKeys', 'stateKey'],
  ['era', 'eras'],
])('the unknown option %s is refused, and %s is suggested', (given, meant) => {
  expect(() => make({ [given]: undefined })).toThrow(
    new TypeError(`McpServer has no option ${given}; did you mean ${meant}?`),
  );
});

test('every documented option is accepted', () => {
  const every: Required<McpServerOptions> = {
    name: 'x',
    version: '1',
    title: 'X',
    description: 'x',
    icons: [],
    websiteUrl: 'https://example.com',
    instructions: 'x',
    pageSize: 1,
    capabilities: {},
    cache: {},
    tasks: {},
    http: {},
    exposeErrors: false,
    onerror: () => {},
    eras: 'both',
    askTimeout: 1,
    maxAskTimeout: 1,
    stateKey: 'x'.repeat(16),
    maxSuspended: 1,
    maxSuspendedPerPrincipal: 1,
    maxSubscriptions: 1,
    maxSubscriptionsPerPrincipal: 1,
  };
  expect(() => make({ ...every, 'example.com/region': 'north' })).not.toThrow();
  for (const option of Object.keys(every)) {
    expect(() => make({ [`${option}z`]: 1 })).toThrow(`McpServer has no option ${option}z; did you mean ${option}?`);
  }
});

test('exposeErrors must be true or false', () => {
  expect(() => make({ exposeErrors: 'yes' })).toThrow('exposeErrors must be true or false, not "yes"');
});

test.each(['newest', '2026-07-28', null, 1])('eras cannot be %j', (eras) => {
  expect(() => make({ eras })).toThrow("eras must be 'both', 'legacy' or 'modern'");
});

test('a state key that is too short is refused at once, and is not in the error', () => {
  expect(() => make({ stateKey: 'too short' })).toThrow(new RangeError('stateKey must have at least 16 bytes'));
  expect(() => make({ stateKey: new Uint8Array(15) })).toThrow(RangeError);
});

test('every setting of the types is accepted', () => {
  const entry = { title: 1, description: 1, icons: 1, _meta: 1, enabled: 1, scopes: 1 } as const;
  const cached = { ...entry, name: 1, mimeType: 1, annotations: 1, ttlMs: 1, cacheScope: 1 } as const;
  const tool = { ...entry, input: 1, output: 1, annotations: 1, safeToRerun: 1, task: 1 } as const;
  const settings = {
    tool: tool satisfies Record<keyof ToolConfig, 1>,
    prompt: { ...entry, arguments: 1 } satisfies Record<keyof PromptConfig, 1>,
    resource: { ...cached, size: 1 } satisfies Record<keyof ResourceConfig, 1>,
    resourceTemplate: { ...cached, complete: 1, list: 1 } satisfies Record<keyof TemplateConfig, 1>,
  };
  for (const [method, each] of Object.entries(settings)) {
    expect(SETTINGS[method]!.toSorted()).toEqual(Object.keys(each).toSorted());
  }
});
