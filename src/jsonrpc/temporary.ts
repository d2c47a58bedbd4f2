import { errorChain } from './error-chain.ts';
import { ErrorCode, RpcError } from './errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from './pending.ts';

/** Codes of errors that may not come again. With any other code, the peer has refused. */
const TEMPORARY: ReadonlySet<number> = new Set([CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorCode.InternalError]);

/**
 * Whether another attempt may succeed: the connection was lost or the peer has trouble, and did not refuse. Of an error and
 * its causes the outermost with a `temporary` decides, else the code of an `RpcError`. Undefined where nothing says it.
 */
export function isTemporary(error: unknown): boolean | undefined {
  for (const each of errorChain(error))
    if ('temporary' in each && typeof each.temporary === 'boolean') return each.temporary;
  return error instanceof RpcError ? TEMPORARY.has(error.code) : undefined;
}
