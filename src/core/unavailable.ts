import { RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';

/**
 * The request certainly did not run, because a part of this service cannot be reached now. Over HTTP it has status 503 with
 * `Retry-After` if the response has not begun. An error of a remote server is none, so no server can take such a response
 * from its bridge.
 */
export class Unavailable extends RpcError {
  constructor(message: string, options: { readonly cause: unknown }) {
    super(CONNECTION_CLOSED, message, { ...options, data: { notExecuted: true } });
  }
}

/** The HTTP status of `Unavailable`. */
export const UNAVAILABLE = 503;
