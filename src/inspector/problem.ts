import { ConnectionError, TimeoutError } from '../client/errors.ts';
import type { Problem } from '../inspect/page-server/page-api.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';

/** What was seen while connecting. */
export interface Seen {
  /** The host and port of a URL. Undefined for a command. */
  readonly host?: string | undefined;
}

/** Why connecting failed, for people. */
export function problemOf(error: unknown, _seen: Seen): Problem {
  const chain = [...errorChain(error)];
  const { message } = chain[0] ?? new Error(String(error));
  if (chain.some((each) => each instanceof TimeoutError)) return { step: 'silence', message };
  if (chain.some((each) => each instanceof ConnectionError)) return { step: 'connect', message };
  return { message };
}
