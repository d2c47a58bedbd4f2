import { isPeerUrl } from '../base/peer-url.ts';
import { isObject } from '../jsonrpc/message.ts';
import { nearest } from '../base/nearest.ts';

/** All options of `McpServer`. A test checks that the list is complete. */
const OPTIONS: readonly string[] = [
  ...['name', 'version', 'title', 'description', 'icons', 'websiteUrl', 'instructions', 'pageSize', 'capabilities'],
  ...[
    'cache',
    'tasks',
    'http',
    'exposeErrors',
    'onerror',
    'eras',
    'askTimeout',
    'maxAskTimeout',
    'stateKey',
    'maxSuspended',
  ],
  ...['maxSuspendedPerPrincipal', 'maxSubscriptions', 'maxSubscriptionsPerPrincipal'],
];
const ERAS: ReadonlySet<unknown> = new Set([undefined, 'both', 'legacy', 'modern']);

/**
 * Refuses options that the types would refuse. An unknown key that does not resemble an option is accepted, because it
 * describes the server, as `name` does.
 *
 * @throws TypeError if the name or the version is missing, an option looks misspelt, or `eras` has an unknown value.
 */
export function checkServerOptions(options: unknown): void {
  const form = "new McpServer({ name: '…', version: '…' })";
  if (!isObject(options)) throw new TypeError(`McpServer needs its options, not ${shown(options)}: ${form}`);
  for (const given of Object.keys(options)) {
    if (OPTIONS.includes(given)) continue;
    const meant = nearest(given, OPTIONS);
    if (meant !== undefined) throw new TypeError(`McpServer has no option ${given}; did you mean ${meant}?`);
  }
  // Official clients refuse a server without them.
  for (const key of ['name', 'version']) {
    if (typeof options[key] !== 'string')
      throw new TypeError(`McpServer needs a ${key}, not ${shown(options[key])}: ${form}`);
  }
  const { eras, exposeErrors } = options;
  if (exposeErrors !== undefined && typeof exposeErrors !== 'boolean')
    throw new TypeError(`exposeErrors must be true or false, not ${shown(exposeErrors)}`);
  if (!ERAS.has(eras)) throw new TypeError(`eras must be 'both', 'legacy' or 'modern', not ${shown(eras)}`);
}

const ENTRY = ['title', 'description', 'icons', '_meta', 'enabled', 'scopes'];
const RESOURCE = [...ENTRY, 'name', 'mimeType', 'annotations', 'ttlMs', 'cacheScope'];
/** The settings of each kind of entry. A test checks that the lists are complete. */
export const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  tool: [...ENTRY, 'input', 'output', 'annotations', 'safeToRerun', 'task'],
  prompt: [...ENTRY, 'arguments'],
  resource: [...RESOURCE, 'size'],
  resourceTemplate: [...RESOURCE, 'complete', 'list'],
};
/** What the official SDK and others call these settings. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  inputSchema: 'input',
  parameters: 'input',
  schema: 'input',
  paramsSchema: 'input',
  outputSchema: 'output',
  argsSchema: 'arguments',
};

/**
 * Refuses a wrong registration, and says what to write instead.
 *
 * @param method the method of `McpServer` that was called.
 * @throws TypeError
 */
export function checkEntry(method: string, name: unknown, config: unknown, handler: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`${method}() needs a non-empty name, not ${shown(name)}: ${method}('…', {}, handler)`);
  }
  if (method === 'resource' && typeof config === 'string') {
    const [uri, title] = [JSON.stringify(config), JSON.stringify(name)];
    throw new TypeError(`resource() takes the URI before the name: resource(${uri}, { name: ${title} }, handler)`);
  }
  const call = `${method}(${JSON.stringify(name)}, { … }, handler)`;
  if (!isObject(config)) {
    throw new TypeError(`${method}() needs a config before its handler, at least {}, not ${shown(config)}: ${call}`);
  }
  if (typeof handler !== 'function') {
    throw new TypeError(`${method}() needs a function as its handler, not ${shown(handler)}: ${call}`);
  }
  checkSettings(method, name, config);
}

/** @throws TypeError if a setting is unknown: a misspelt schema would let every argument pass. */
function checkSettings(method: string, name: string, config: object): void {
  const known = SETTINGS[method]!;
  for (const given of Object.keys(config)) {
    if (known.includes(given)) continue;
    const elsewhere = ELSEWHERE[given];
    const meant = elsewhere !== undefined && known.includes(elsewhere) ? elsewhere : nearest(given, known);
    const remedy = meant === undefined ? `the settings are ${known.join(', ')}` : `did you mean ${meant}?`;
    throw new TypeError(`${method} ${JSON.stringify(name)} has no setting ${given}; ${remedy}`);
  }
}

/** @throws TypeError if it is not an absolute URI, so that no client could read the resource (RFC 3986, section 3). */
export function checkUri(uri: string): void {
  if (!isPeerUrl(uri)) {
    throw new TypeError(
      `${JSON.stringify(uri)} is not a URI; add a scheme, for example file:///notes.txt or notes://all`,
    );
  }
}

function shown(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'string' ? JSON.stringify(value) : Array.isArray(value) ? 'an array' : typeof value;
}
