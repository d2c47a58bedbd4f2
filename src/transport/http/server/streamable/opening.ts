import type { JsonObject, Request } from '../../../../jsonrpc/message.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { SessionRecord } from '../../../../store/session-store.ts';
import type { HttpCall } from '../call.ts';

/** The id of the `initialize` that a revived session begins with. No other request comes before its response. */
const REVIVAL = 'revival';

/** How the revival of a session ended: it is open, there is no such session, or the store failed. */
export type Revival = 'open' | 'gone' | 'failed';

/** How a session begins. */
export interface Opening {
  readonly id: string;
  /** The call that opens or revives the session. */
  readonly call: HttpCall;
  /** The client's `initialize`, or that of a revived session, which is not answered. */
  readonly initialize: Request;
  readonly revived: boolean;
  /** What other processes have stored of the session. */
  readonly record?: SessionRecord | undefined;
}

/** A session that another process opened, and its client still uses. That process may be alive. */
export function reopening(id: string, params: JsonObject, call: HttpCall, record?: SessionRecord): Opening {
  // A copy, because a slice of the head of a request keeps the whole head in memory.
  const own = Buffer.from(id, 'latin1').toString('latin1');
  const initialize: Request = { jsonrpc: '2.0', id: REVIVAL, method: Method.Initialize, params };
  return { id: own, call, initialize, revived: true, record };
}
