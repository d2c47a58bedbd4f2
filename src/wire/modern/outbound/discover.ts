import { printableMessage } from '../../../base/printable.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, isStrings, type JsonObject } from '../../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../../jsonrpc/pending.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { Meta, Method } from '../../../protocol/methods.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS, type Revision } from '../../../protocol/revisions.ts';
import type { DiscoverResult, Implementation } from '../../../protocol/types.ts';
import type { CarriedResponse, Carrier } from '../../../transport/carrier.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Deadline } from '../../../base/deadline.ts';
import { shortText } from '../../../base/short-text.ts';
import { checkServerDescription } from '../../server-description.ts';

/** What a server of this era answered to `server/discover`. */
export interface Discovery {
  readonly revision: Revision;
  readonly discovered: DiscoverResult;
}

/** The server cannot be used in this era (2026-07-28, transports/stdio: Backward Compatibility). */
export class NotModern extends RpcError {
  /** The newest handshake revision that it lists. */
  readonly legacy: Revision | undefined;
  /**
   * Whether the server may speak the other era: it lists a revision of that era, or nothing shows that it speaks this
   * one.
   */
  readonly mayBeLegacy: boolean;
  /** Whether the server did not answer in time. */
  readonly silent: boolean;

  constructor(
    { code, message, data, cause, origin }: RpcError,
    shown: { recognised: boolean; legacy?: Revision | undefined; silent?: boolean },
  ) {
    super(code, message, { data, cause, origin });
    this.legacy = shown.legacy;
    this.mayBeLegacy = !shown.recognised || shown.legacy !== undefined;
    this.silent = shown.silent ?? false;
  }
}

export interface DiscoverOptions {
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  /** The one revision to speak. Default: the newest that both sides speak. */
  readonly revision?: Revision | undefined;
  /** How long the response may take. Milliseconds; 0 for no limit. */
  readonly timeout: number;
}

/** Errors that only servers of this era send (2026-07-28, basic: Error Codes). */
const RECOGNISED: ReadonlySet<number> = new Set([
  McpErrorCode.HeaderMismatch,
  McpErrorCode.MissingRequiredClientCapability,
  McpErrorCode.UnsupportedProtocolVersion,
]);

/**
 * Sends `server/discover`. If the server lists other revisions than the requested one, it is asked again with the
 * newest of them that is known here (2026-07-28, versioning: Protocol Version Negotiation).
 *
 * @throws NotModern. Error if the connection is lost, or if HTTP gave no JSON-RPC response.
 */
export async function discover(carrier: Carrier, options: DiscoverOptions): Promise<Discovery> {
  const ours = options.revision === undefined ? MODERN_REVISIONS : [options.revision];
  let revision = ours[0]!;
  // If the refused revision is also listed, ask for it once more: one address may lead to several servers, some of them
  // older.
  for (let left = ours.length; ; left -= 1) {
    const response = await ask(carrier, revision, options);
    const found = judge(response, ours);
    if ('result' in response) {
      checkServerDescription(response.result);
      return found;
    }
    // Only an error has listed this revision so far, so ask again with it.
    if (left === 0) throw new NotModern(RpcError.fromObject(response.error, response.failure), { recognised: true });
    ({ revision } = found);
  }
}

/** What a response to `server/discover` shows. From an error, only the revision is known. @throws NotModern */
export function judge(response: CarriedResponse, ours: readonly Revision[] = MODERN_REVISIONS): Discovery {
  if ('result' in response) {
    const discovered = response.result;
    if (isDiscoverResult(discovered)) return agreement(ours, discovered);
    throw unrecognised(new RpcError(ErrorCode.InternalError, 'the response to server/discover is invalid'));
  }
  const error = RpcError.fromObject(response.error, response.failure);
  if (!RECOGNISED.has(error.code)) throw unrecognised(error);
  const supported: unknown = isObject(error.data) ? error.data['supported'] : undefined;
  if (error.code === McpErrorCode.UnsupportedProtocolVersion && isStrings(supported)) {
    return agreement(ours, { supportedVersions: supported, capabilities: {} });
  }
  throw new NotModern(error, { recognised: true });
}

export function isDiscoverResult(result: JsonObject): result is JsonObject & DiscoverResult {
  return isStrings(result['supportedVersions']) && isObject(result['capabilities']);
}

function agreement(ours: readonly Revision[], discovered: DiscoverResult): Discovery {
  const supported: readonly string[] = discovered.supportedVersions;
  const revision = ours.find((each) => supported.includes(each));
  if (revision !== undefined) return { revision, discovered };
  const error = new RpcError(
    McpErrorCode.UnsupportedProtocolVersion,
    `The server speaks ${printableMessage(shortText(supported.join(', ') || 'no revision'))}, but this client speaks ${MODERN_REVISIONS.join(', ')}`,
    { data: { supported } },
  );
  const legacy = LEGACY_REVISIONS.findLast((each) => supported.includes(each));
  throw new NotModern(error, { recognised: true, legacy });
}

/** @param silent whether no response came in time. */
function unrecognised(cause: RpcError, silent = false): NotModern {
  const message = `The server does not speak ${MODERN_REVISIONS[0]}: ${cause.message}`;
  return new NotModern(new RpcError(cause.code, message, { data: cause.data, cause }), { recognised: false, silent });
}

/** @throws NotModern if no response came in time. */
async function ask(carrier: Carrier, revision: Revision, options: DiscoverOptions): Promise<CarriedResponse> {
  const { clientInfo, capabilities, timeout } = options;
  const lifetime = new Lifetime();
  const deadline = new Deadline({ timeout, maxTimeout: 0 }, () =>
    lifetime.abort(
      unrecognised(new RpcError(REQUEST_TIMEOUT, `server/discover was not answered within ${timeout} ms`), true),
    ),
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
    throw lifetime.ended ?? error;
  } finally {
    deadline.clear();
  }
}
