import type { Exchange } from '../../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject } from '../../../jsonrpc/message.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { Method } from '../../../protocol/methods.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { errorIn } from '../../errors.ts';
import { withElicitationId } from './questions.ts';
import { each, put } from '../../../jsonrpc/shape.ts';

/**
 * Converts an error response to its form in a handshake revision. Each required URL elicitation gets an id if the
 * revision has such ids.
 */
export function toLegacyError(
  thrown: unknown,
  profile: RevisionProfile,
  request: Pick<Exchange, 'method' | 'params'>,
): RpcError {
  const error = errorIn(thrown, profile);
  const { code, data } = error;
  if (isMissing(error, request)) return new RpcError(profile.resourceNotFound, error.message, { data, cause: error });
  if (code !== McpErrorCode.UrlElicitationRequired || !isObject(data)) return error;
  const elicitations = each(data['elicitations'], (params) => withElicitationId(params, profile));
  const named = put(data, 'elicitations', elicitations);
  return named === data ? error : new RpcError(code, error.message, { data: named, cause: error });
}

/**
 * Whether an error means "resource not found". 2026-07-28 has no code of its own for this, so the URI in `data` decides
 * (server/resources: Error Handling).
 */
function isMissing({ code, data }: RpcError, { method, params }: Pick<Exchange, 'method' | 'params'>): boolean {
  if (method !== Method.ReadResource || code !== ErrorCode.InvalidParams) return false;
  return isObject(data) && data['uri'] !== undefined && data['uri'] === params['uri'];
}
