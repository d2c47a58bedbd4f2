import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject, type Response } from '../../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../../jsonrpc/pending.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { Meta, Method } from '../../../protocol/methods.ts';
import { MODERN_REVISIONS, type Revision } from '../../../protocol/revisions.ts';
import type { DiscoverResult, Implementation } from '../../../protocol/types.ts';
import type { Carrier } from '../../../transport/carrier.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Deadline } from '../../../base/deadline.ts';

/** What `server/discover` has shown of a server (2026-07-28, transports/stdio: Backward Compatibility). */
export type Discovery =
  /** The server speaks 2026-07-28, and both sides share a revision. */
  | { readonly outcome: 'agreed'; readonly revision: Revision; readonly discovered: DiscoverResult }
  /** The server speaks this era, but none of the revisions it lists are known here. */
  | { readonly outcome: 'disjoint'; readonly supported: readonly string[] }
  /** The server speaks this era and refused the request. */
  | { readonly outcome: 'refused'; readonly error: RpcError }
  /** Nothing shows that the server speaks this era. */
  | { readonly outcome: 'unrecognised'; readonly error: RpcError; readonly silent: boolean };

export interface DiscoverOptions {
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  /** The one revision to speak. Default: the newest that both sides speak. */
  readonly revision?: Revision | undefined;
  /** How long the response may take. Milliseconds; 0 for no limit. */
  readonly timeout: number;
}

/** The errors that only servers of this era know (2026-07-28, basic: Error Codes). */
const RECOGNISED: ReadonlySet<number> = new Set([
  McpErrorCode.HeaderMismatch,
  McpErrorCode.MissingRequiredClientCapability,
  McpErrorCode.UnsupportedProtocolVersion,
]);

/**
 * Sends `server/discover`. If the server lists other revisions than the requested one, it is asked again with the
 * newest of them that is known here (2026-07-28, versioning: Protocol Version Negotiation).
 *
 * @throws Error if the connection is lost, or if HTTP gave no JSON-RPC response.
 */
export async function discover(carrier: Carrier, options: DiscoverOptions): Promise<Discovery> {
  const ours = options.revision === undefined ? MODERN_REVISIONS : [options.revision];
  let revision = ours[0]!;
  // If a revision is refused and listed at once, ask for it once more: one address may have several servers, some of
  // them older.
  for (let left = ours.length; ; left -= 1) {
    const response = await ask(carrier, revision, options);
    if (!response) return silence(options.timeout);
    const found = judge(response, ours);
    if (found.outcome !== 'agreed' || 'result' in response) return found;
    // Only the error has listed this revision, so ask the server in it.
    if (left === 0) return { outcome: 'refused', error: RpcError.fromObject(response.error) };
    revision = found.revision;
  }
}

/** What a response to `server/discover` shows. For an error, the agreed revision is only listed and not confirmed. */
export function judge(response: Response, ours: readonly Revision[]): Discovery {
  if ('result' in response) {
    const discovered = response.result;
    if (!isDiscoverResult(discovered)) {
      const error = new RpcError(ErrorCode.InternalError, 'the answer to server/discover describes no server');
      return { outcome: 'unrecognised', error, silent: false };
    }
    return agreement(ours, discovered.supportedVersions, discovered);
  }
  const error = RpcError.fromObject(response.error);
  if (!RECOGNISED.has(error.code)) return { outcome: 'unrecognised', error, silent: false };
  const supported: unknown = isObject(error.data) ? error.data['supported'] : undefined;
  if (error.code !== McpErrorCode.UnsupportedProtocolVersion || !isStrings(supported)) {
    return { outcome: 'refused', error };
  }
  return agreement(ours, supported, { supportedVersions: supported, capabilities: {} });
}

/** The error for a server that cannot be used in this era. */
export function discoveryError(discovery: Exclude<Discovery, { outcome: 'agreed' }>): RpcError {
  switch (discovery.outcome) {
    case 'disjoint':
      return new RpcError(
        McpErrorCode.UnsupportedProtocolVersion,
        `The server speaks ${discovery.supported.join(', ') || 'no revision'}, and this client ${MODERN_REVISIONS.join(', ')}`,
        { data: { supported: discovery.supported } },
      );
    case 'refused':
      return discovery.error;
    default:
      return new RpcError(
        discovery.error.code,
        `The server does not speak ${MODERN_REVISIONS[0]}: ${discovery.error.message}`,
        { data: discovery.error.data, cause: discovery.error },
      );
  }
}

export function isDiscoverResult(result: JsonObject): result is JsonObject & DiscoverResult {
  return isStrings(result['supportedVersions']) && isObject(result['capabilities']);
}

function agreement(ours: readonly Revision[], supported: readonly string[], discovered: DiscoverResult): Discovery {
  const revision = ours.find((each) => supported.includes(each));
  return revision === undefined ? { outcome: 'disjoint', supported } : { outcome: 'agreed', revision, discovered };
}

function silence(timeout: number): Discovery {
  const error = new RpcError(REQUEST_TIMEOUT, `server/discover was not answered within ${timeout} ms`);
  return { outcome: 'unrecognised', error, silent: true };
}

/** Undefined if no response came in time. */
async function ask(carrier: Carrier, revision: Revision, options: DiscoverOptions): Promise<Response | undefined> {
  const { clientInfo, capabilities, timeout } = options;
  const lifetime = new Lifetime();
  const deadline = new Deadline({ timeout, maxTimeout: 0 }, () =>
    lifetime.abort(new RpcError(REQUEST_TIMEOUT, `server/discover was not answered within ${timeout} ms`)),
  );
  try {
    return await carrier.request({
      method: Method.Discover,
      params: {
        _meta: {
          [Meta.ProtocolVersion]: revision,
          [Meta.ClientInfo]: clientInfo,
          [Meta.ClientCapabilities]: capabilities,
        },
      },
      headers: { 'mcp-protocol-version': revision, 'mcp-method': Method.Discover },
      lifetime,
      onnotification: () => {},
    });
  } catch (error) {
    if (lifetime.ended) return undefined;
    throw error;
  } finally {
    deadline.clear();
  }
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
