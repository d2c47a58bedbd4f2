import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** Members that name or date something in one session only. */
const OF_ONE_SESSION: ReadonlySet<string> = new Set([
  'taskId',
  'requestState',
  'nextCursor',
  'cursor',
  'elicitationId',
  'progressToken',
  'requestId',
  'createdAt',
  'lastUpdatedAt',
]);
/** Members whose content belongs to the server or to a tool, so that all of it counts. */
const OF_THE_SERVER: ReadonlySet<string> = new Set([
  'content',
  'structuredContent',
  'contents',
  'arguments',
  'inputSchema',
  'outputSchema',
  'requestedSchema',
]);
/** What stands for a value that does not count. */
const ANY = '…';

/** The lists of the protocol, and what names their entries. */
const LISTS: Readonly<Record<string, string>> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
  roots: 'uri',
};

/**
 * A value without `_meta`, and with a placeholder for what names or dates something in one session only: task ids,
 * cursors, tokens, the times of tasks.
 */
export function comparable(value: unknown): unknown {
  return stable(value, ANY);
}

/** The same, with another placeholder. */
export function stable(value: unknown, placeholder: string | undefined): unknown {
  if (Array.isArray(value)) return value.map((each) => stable(each, placeholder));
  if (!isObject(value)) return value;
  const members = Object.entries<unknown>(value).filter(([name]) => name !== '_meta');
  // An assignment to a member `__proto__` would not make a member.
  return Object.fromEntries(
    members.map(([name, member]) => {
      if (OF_ONE_SESSION.has(name)) return [name, placeholder];
      return [name, OF_THE_SERVER.has(name) ? member : stable(member, placeholder)];
    }),
  );
}

/** Like `comparable`, for a result. The entries of a list have their names in place of their positions. */
export function comparableResult(result: JsonObject): JsonObject {
  const found = comparable(result) as JsonObject;
  for (const [list, key] of Object.entries(LISTS)) {
    const entries: unknown = found[list];
    if (Array.isArray(entries)) found[list] = byName(entries, key);
  }
  return found;
}

function byName(entries: readonly unknown[], key: string): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [index, entry] of entries.entries()) {
    const name: unknown = isObject(entry) ? entry[key] : undefined;
    const own = typeof name === 'string' ? name : String(index);
    // A second entry of the same name keeps its position.
    found.set(found.has(own) ? `${own} (${index})` : own, entry);
  }
  return found;
}
