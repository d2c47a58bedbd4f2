import { RpcError } from '../jsonrpc/errors.ts';
import type { RevisionProfile } from '../protocol/revisions.ts';

/** An error as a revision says it, whatever stands behind the service: with a code of its own in place of those of others. */
export function errorIn(thrown: unknown, { errorCodes }: RevisionProfile): RpcError {
  const error = RpcError.from(thrown);
  const code = errorCodes.get(error.code);
  return code === undefined ? error : new RpcError(code, error.message, { data: error.data, cause: error });
}
