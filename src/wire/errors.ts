import { RpcError } from '../jsonrpc/errors.ts';
import type { RevisionProfile } from '../protocol/revisions.ts';

/** Converts an error to the codes of a revision. A code that the revision does not have is replaced. */
export function errorIn(thrown: unknown, { errorCodes }: RevisionProfile): RpcError {
  const error = RpcError.from(thrown);
  const code = errorCodes.get(error.code);
  return code === undefined ? error : new RpcError(code, error.message, { data: error.data, cause: error });
}
