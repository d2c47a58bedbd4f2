import type { Caller, Session } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';

/** A request as one process passes it on to another. */
export interface ForwardedRequest {
  /** What the receiver must have claimed. */
  readonly key: string;
  /** The request at its sender. */
  readonly id: number;
  /** Begins the kinds of calls with which its sender takes notifications and questions. */
  readonly back: string;
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: JsonObject;
}

/** A notification that goes back to the sender of a request. */
export interface Notice {
  readonly method: string;
  readonly params?: JsonObject;
}

/** A caller without what only its own process has. The data of its credential stays there. */
export function writeCaller({ revision, clientInfo, capabilities, principal, logLevel }: Caller): JsonObject {
  return { revision, clientInfo, capabilities, principal, logLevel };
}

/** @param session of the caller at the receiver, if it has one. */
export function readCaller(caller: JsonObject, session: Session | undefined): Caller {
  const { revision, clientInfo, capabilities, principal, logLevel } = caller as Caller & JsonObject;
  return { revision, clientInfo, capabilities, principal, logLevel, auth: undefined, session };
}
