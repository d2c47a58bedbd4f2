import type { Caller } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';
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
 * can forward any question. Whether the caller can answer is checked when a question comes.
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
    capabilities: session ? capabilities : withoutRootsChanged(capabilities),
    onBehalfOf: revision,
  };
}

/** A caller without a session cannot announce that its roots have changed, so a server should ask each time. */
function withoutRootsChanged(capabilities: JsonObject): JsonObject {
  const roots: unknown = capabilities['roots'];
  if (!isObject(roots) || roots['listChanged'] === undefined) return capabilities;
  const { listChanged: _, ...rest } = roots;
  return { ...capabilities, roots: rest };
}

/** The key of a client, which all its callers share: principal, program and capabilities. */
export function keyOf({ principal, clientInfo, capabilities }: Caller): string {
  return canonicalJson([principal, clientInfo?.name, clientInfo?.version, withoutRootsChanged(capabilities)]);
}
