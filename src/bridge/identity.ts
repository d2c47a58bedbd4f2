import type { Caller } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { MODERN_REVISIONS, type Revision } from '../protocol/revisions.ts';
import type { Implementation } from '../protocol/types.ts';
import { VERSION } from '../version.ts';

/** The caller that a connection to a server represents. */
export interface BridgeIdentity {
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly onBehalfOf: Revision;
}

/**
 * The bridge's own identity, for connections that represent no single caller. It declares every capability, because it
 * can forward any question. Whether the caller can answer is checked then.
 */
export const OWN_IDENTITY: BridgeIdentity = {
  clientInfo: { name: 'everwire-bridge', version: VERSION },
  capabilities: {
    // A shared server could not know which caller's roots have changed.
    roots: {},
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
  },
  onBehalfOf: MODERN_REVISIONS[0]!,
};

/** The caller that a connection represents. */
export function identityOf({ clientInfo, capabilities, revision, session }: Caller): BridgeIdentity {
  return {
    clientInfo: clientInfo ?? OWN_IDENTITY.clientInfo,
    capabilities: session ? capabilities : withoutNews(capabilities),
    onBehalfOf: revision,
  };
}

/** A caller without a session cannot announce that its roots have changed, so a server should ask each time. */
function withoutNews(capabilities: JsonObject): JsonObject {
  const roots: unknown = capabilities['roots'];
  if (!isObject(roots) || roots['listChanged'] === undefined) return capabilities;
  const { listChanged: _, ...rest } = roots;
  return { ...capabilities, roots: rest };
}

/** The largest description of a caller, in characters of JSON. It is kept as long as the connection. */
const MAX_HELLO = 64 * 1024;

/**
 * The key of a client, which all its callers share: principal, program and capabilities.
 *
 * @throws RpcError −32602 if the description is too large.
 */
export function keyOf({ principal, clientInfo, capabilities }: Caller): string {
  const can = canonical(withoutNews(capabilities));
  const key = JSON.stringify([principal ?? null, clientInfo?.name, clientInfo?.version, can]);
  if (key.length <= MAX_HELLO) return key;
  const message = `Invalid params: what the client says of itself is larger than ${MAX_HELLO} characters`;
  throw new RpcError(ErrorCode.InvalidParams, message);
}

/** Sorts the members of each object. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isObject(value)) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}
