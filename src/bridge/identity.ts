import type { Caller } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { MODERN_REVISIONS, type Revision } from '../protocol/revisions.ts';
import type { Implementation } from '../protocol/types.ts';
import { VERSION } from '../version.ts';

/** In whose name a server is connected to. */
export interface BridgeIdentity {
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly onBehalfOf: Revision;
}

/**
 * Who a bridge is where it speaks in nobody's name, or in everybody's. It can pass on any question; whether the caller can
 * answer shows then.
 */
export const OWN_IDENTITY: BridgeIdentity = {
  clientInfo: { name: 'everwire-bridge', version: VERSION },
  capabilities: {
    // Whose they would be that have changed, a server that is everybody's cannot know.
    roots: {},
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
  },
  onBehalfOf: MODERN_REVISIONS[0]!,
};

/** A caller as the one in whose name a server is connected to. */
export function identityOf({ clientInfo, capabilities, revision, session }: Caller): BridgeIdentity {
  return {
    clientInfo: clientInfo ?? OWN_IDENTITY.clientInfo,
    capabilities: session ? capabilities : withoutNews(capabilities),
    onBehalfOf: revision,
  };
}

/** A caller without a session has no way to say that its roots have changed: a server should ask each time. */
function withoutNews(capabilities: JsonObject): JsonObject {
  const roots: unknown = capabilities['roots'];
  if (!isObject(roots) || roots['listChanged'] === undefined) return capabilities;
  const { listChanged: _, ...rest } = roots;
  return { ...capabilities, roots: rest };
}

/** What a caller may say of itself, in characters of JSON: it is kept as long as the connection. */
const MAX_HELLO = 64 * 1024;

/**
 * The key of a client, the same for all its callers: who they are, which program they run, and what it can do.
 *
 * @throws RpcError −32602 where they say too much of themselves.
 */
export function keyOf({ principal, clientInfo, capabilities }: Caller): string {
  const can = canonical(withoutNews(capabilities));
  const key = JSON.stringify([principal ?? null, clientInfo?.name, clientInfo?.version, can]);
  if (key.length <= MAX_HELLO) return key;
  const message = `Invalid params: what the client says of itself is larger than ${MAX_HELLO} characters`;
  throw new RpcError(ErrorCode.InvalidParams, message);
}

/** With the members of each object in one order. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isObject(value)) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}
