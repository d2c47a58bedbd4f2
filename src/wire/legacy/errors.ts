import { RpcError } from '../../jsonrpc/errors.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { errorIn } from '../errors.ts';
import { visit } from './questions.ts';
import { each, put } from './shape.ts';

/** An error as a handshake revision says it. Each address that a caller must go to has an id, where the revision has them. */
export function toLegacyError(thrown: unknown, profile: RevisionProfile): RpcError {
  const error = errorIn(thrown, profile);
  const { code, data } = error;
  if (code !== McpErrorCode.UrlElicitationRequired || !isObject(data)) return error;
  const elicitations = each(data['elicitations'], (params) => visit(params, profile));
  const named = put(data, 'elicitations', elicitations);
  return named === data ? error : new RpcError(code, error.message, { data: named, cause: error });
}
