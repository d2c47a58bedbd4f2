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
  /**
   * Opens the session that another process has left. Undefined if there is none, or if the server no longer knows it.
   *
   * @throws (rejects) as `open`, if that may succeed later.
   */
  resume<Opened>(open: (session: KeptSession) => Promise<Opened>): Promise<Opened | undefined>;
  /** The connection has this session now. Undefined if it has none any more. */
  keep(session: KeptSession | undefined): void;
  /** Whether another process goes on with the session, so that it does not end with the connection. */
  readonly goesOn: boolean;
}
