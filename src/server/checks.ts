import { isObject } from '../jsonrpc/message.ts';

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
 * Refuses options that the types would refuse. A key that does not resemble an option is accepted: it describes the
 * server, as `name` does.
 *
 * @throws TypeError if an option looks misspelt, or `eras` has an unknown value.
 */
export function checkServerOptions(options: object): void {
  for (const given of Object.keys(options)) {
    if (OPTIONS.includes(given)) continue;
    const meant = OPTIONS.find((option) => isNear(given.toLowerCase(), option.toLowerCase()));
    if (meant !== undefined) throw new TypeError(`McpServer has no option ${given}; write ${meant}`);
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
    throw new TypeError(`${method}() needs a name that is not empty, not ${shown(name)}: ${method}('…', {}, handler)`);
  }
  const call = `${method}(${JSON.stringify(name)}, { … }, handler)`;
  if (!isObject(config)) {
    throw new TypeError(
      `${method}() needs a config before its handler, {} at the least, not ${shown(config)}: ${call}`,
    );
  }
  if (typeof handler !== 'function') {
    throw new TypeError(`${method}() needs a function as its handler, not ${shown(handler)}: ${call}`);
  }
}

/** @throws TypeError if it is not an absolute URI, so that no client could read the resource (RFC 3986, section 3). */
export function checkUri(uri: string): void {
  if (!URL.canParse(uri)) {
    throw new TypeError(
      `${JSON.stringify(uri)} is not a URI; write one with a scheme, as file:///notes.txt or notes://all`,
    );
  }
}

function shown(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'string' ? JSON.stringify(value) : Array.isArray(value) ? 'an array' : typeof value;
}

/** Whether two words differ by at most two letters, or by one letter if the word is short. */
function isNear(given: string, option: string): boolean {
  const most = option.length > 5 ? 2 : 1;
  if (Math.abs(given.length - option.length) > most) return false;
  let row = Array.from({ length: option.length + 1 }, (_, column) => column);
  for (let line = 1; line <= given.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= option.length; column += 1) {
      const replaced = row[column - 1]! + (given[line - 1] === option[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[option.length]! <= most;
}
