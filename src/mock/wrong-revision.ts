import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type Request } from '../jsonrpc/message.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { Meta, Method } from '../protocol/methods.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import { beginning } from './difference.ts';

/**
 * Why a request cannot be answered: its client speaks a revision that the recording does not have. Undefined if the
 * revision is no problem. A client of an older revision shows its user nothing but this message (2026-07-28, versioning:
 * Backward Compatibility).
 *
 * @param revisions in which the recorded server answered.
 */
export function wrongRevision({ method, params }: Request, revisions: readonly Revision[]): RpcError | undefined {
  const meta: unknown = params?.['_meta'];
  const named: unknown = isObject(meta) ? meta[Meta.ProtocolVersion] : undefined;
  const isModern = (revision: Revision): boolean => profileOf(revision)!.era === 'modern';
  const spoken = revisions.join(', ');
  if (revisions.length === 0) return undefined;
  if (named === undefined) {
    if (method !== Method.Initialize || !revisions.every(isModern)) return undefined;
    const requested = nameOf(params?.['protocolVersion']);
    const message = `This mock speaks only ${spoken}, as its recording does. The client asks for ${requested} with initialize, which ${spoken} does not have. Record a session in a revision of this client, or put a bridge before the mock: everwire bridge -- everwire mock --stdio <file>`;
    return unsupported(message, { supported: revisions, requested });
  }
  if (revisions.some((each) => each === named)) return undefined;
  const requested = nameOf(named);
  const message = `This mock speaks only ${spoken}, as its recording does. The client asks for ${requested}. If it cannot go on with another revision, record a session in ${requested}, or put a bridge before the mock: everwire bridge -- everwire mock --stdio <file>`;
  const supported = revisions.filter(isModern);
  // With a code of 2026-07-28, a client that speaks both eras would not go on with initialize.
  if (supported.length === 0) return new RpcError(ErrorCode.InvalidRequest, message);
  return unsupported(message, { supported, requested });
}

function unsupported(message: string, data: object): RpcError {
  return new RpcError(McpErrorCode.UnsupportedProtocolVersion, message, { data });
}

/** A revision as the client names it. A value that is no string may fail to become one. */
function nameOf(version: unknown): string {
  return typeof version === 'string' ? beginning(version) : typeof version;
}
