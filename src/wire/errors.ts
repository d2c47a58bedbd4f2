import { RpcError } from '../jsonrpc/errors.ts';
import type { RevisionProfile } from '../protocol/revisions.ts';

/** An error with the codes of a revision. Codes that the revision does not have are replaced. */
export function errorIn(thrown: unknown, { errorCodes }: RevisionProfile): RpcError {
  const error = RpcError.from(thrown);
  const code = errorCodes.get(error.code);
  return code === undefined ? error : new RpcError(code, error.message, { data: error.data, cause: error });
}
