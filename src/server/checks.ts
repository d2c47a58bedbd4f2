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
 * @throws TypeError if an option looks misspelt, or `eras` has an unknown value.
 */
export function checkServerOptions(options: object): void {
  for (const given of Object.keys(options)) {
    if (OPTIONS.includes(given)) continue;
    const meant = nearest(given, OPTIONS);
    if (meant !== undefined) throw new TypeError(`McpServer has no option ${given}; did you mean ${meant}?`);
  }
  const { eras, exposeErrors } = options as { eras?: unknown; exposeErrors?: unknown };
  if (exposeErrors !== undefined && typeof exposeErrors !== 'boolean')
    throw new TypeError(`exposeErrors must be true or false, not ${shown(exposeErrors)}`);
  if (!ERAS.has(eras)) throw new TypeError(`eras must be 'both', 'legacy' or 'modern', not ${shown(eras)}`);
}

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
  const call = `${method}(${JSON.stringify(name)}, { … }, handler)`;
  if (!isObject(config)) {
    throw new TypeError(`${method}() needs a config before its handler, at least {}, not ${shown(config)}: ${call}`);
  }
  if (typeof handler !== 'function') {
    throw new TypeError(`${method}() needs a function as its handler, not ${shown(handler)}: ${call}`);
  }
}

/** @throws TypeError if it is not an absolute URI, so that no client could read the resource (RFC 3986, section 3). */
export function checkUri(uri: string): void {
  if (!URL.canParse(uri)) {
    throw new TypeError(
      `${JSON.stringify(uri)} is not a URI; add a scheme, for example file:///notes.txt or notes://all`,
    );
  }
}

function shown(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'string' ? JSON.stringify(value) : Array.isArray(value) ? 'an array' : typeof value;
}
