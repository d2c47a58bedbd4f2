/*
 * Ids that clients get and later send back contain the name of their server: URIs, task ids, and the state of a request
 * with questions. So a fleet stores nothing, and after a restart it still understands them.
 */

const URI = /^everwire\+([a-z0-9.-]+):(.*)$/s;
const TASK_ID = /^([a-z0-9.-]+):(.*)$/s;
const STATE = /^([a-z0-9.-]+)([:!])(.*)$/s;

/** The URI of a server's resource or template: `everwire+notes:file:///a.txt`. */
export function wrapUri(label: string, uri: string): string {
  return `everwire+${label}:${uri}`;
}

/** Splits a URI that contains the name of its server. */
export function unwrapUri(uri: string): { readonly label: string; readonly uri: string } | undefined {
  const [, label, own] = URI.exec(uri) ?? [];
  return label === undefined || own === undefined ? undefined : { label, uri: own };
}

/**
 * Whether a URI looks like one that contains the name of its server. URI schemes are case-insensitive (RFC 3986,
 * section 3.1).
 */
export function isWrapped(uri: string): boolean {
  return /^everwire\+/i.test(uri);
}

/** The id of a server's task: `notes:4711`. */
export function taskIdOf(label: string, id: string): string {
  return `${label}:${id}`;
}

/** Parses the id of a task. */
export function splitTaskId(taskId: unknown): { readonly label: string; readonly id: string } | undefined {
  const [, label, id] = typeof taskId === 'string' ? (TASK_ID.exec(taskId) ?? []) : [];
  return label === undefined || id === undefined ? undefined : { label, id };
}

/** The `requestState` of a result with questions. The server's own state may be absent. */
export function stateOf(label: string, state: string | undefined): string {
  return state === undefined ? `${label}!` : `${label}:${state}`;
}

/** Parses a `requestState`. `state` is undefined if the server gave none. */
export function splitState(
  requestState: unknown,
): { readonly label: string; readonly state: string | undefined } | undefined {
  const [, label, kind, state] = typeof requestState === 'string' ? (STATE.exec(requestState) ?? []) : [];
  if (label === undefined || (kind === '!' && state !== '')) return undefined;
  return { label, state: kind === '!' ? undefined : state };
}

/** The keys of `_meta` that Everwire defines. */
export const FleetMeta = {
  /** In a list result: the names of the servers that are missing because they did not respond. */
  Missing: 'dev.everwire/missing',
  /** In a request that no other rule can route: the name of its server. */
  Server: 'dev.everwire/server',
} as const;
