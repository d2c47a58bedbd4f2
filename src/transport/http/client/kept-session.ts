import type { JsonObject } from '../../../jsonrpc/message.ts';

/** A session at a server, as one process leaves it to another one. */
export interface KeptSession {
  /** A secret. */
  readonly id: string;
  /** The result of `initialize`. */
  readonly opened: JsonObject;
  /** How many processes had the session before. */
  readonly takenOver: number;
}

/** Keeps the session of a connection, so that another process can go on with it if this one is gone. */
export interface SessionKeeper {
  /** The session that another process has left. */
  find(): Promise<KeptSession | undefined>;
  /** The connection has this session now. Undefined if it has none any more. */
  keep(session: KeptSession | undefined): void;
  /** Whether another process goes on with the session, so that it does not end with the connection. */
  readonly goesOn: boolean;
}
