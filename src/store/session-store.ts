import { checkBounds } from '../base/bounds.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { NodeId } from './bus.ts';
import type { EventId, SessionId } from './event-log.ts';

/** A session's own stream (GET), if several processes use the store. */
export interface OwnStreamPlace {
  /** The process at which the client reads the stream, or has read it last. */
  readonly reader: NodeId;
  /** Where a client without a `Last-Event-ID` begins: after this event. Undefined if the stream was never used. */
  readonly after?: EventId | undefined;
}

/** What changes in a session while it is used. It contains only JSON. */
export interface SessionSettings {
  /** The log level that the client has set. */
  readonly logLevel?: string | undefined;
  /** The URIs of the resources that the client has subscribed to. */
  readonly resources?: readonly string[] | undefined;
  /** Where the session's own stream is read. Undefined if only one process uses the store. */
  readonly own?: OwnStreamPlace | undefined;
}

/** Divides a record into what may be large and does not change, and what changes. */
export function divided({ logLevel, resources, own, ...rest }: SessionRecord): [rest: object, SessionSettings] {
  return [rest, { logLevel, resources, own }];
}

/** What another process needs to continue a session. It contains only JSON. */
export interface SessionRecord extends SessionSettings {
  /** The owner of the session; undefined if callers are not authenticated. */
  readonly principal?: string | undefined;
  /**
   * Who the session counts towards in the limits of the store: a hash of the principal, or of the address if there is no
   * principal. Sessions without a share count as those of one.
   */
  readonly share?: string | undefined;
  /** The parameters of the client's `initialize`. */
  readonly initialize: JsonObject;
}

/** A session that was used in the last two minutes is in use. Milliseconds. */
export const IN_USE = 120_000;

/**
 * Keeps the sessions of the revisions with a handshake, so that another process can continue them.
 *
 * A session is named by a hash of the session id, because anyone who has the id can use the session. The store is bounded
 * in number, bytes and age. Safe to call concurrently: calls for one session take effect in the order in which they were
 * made.
 */
export interface SessionStore {
  /** Undefined if there is no such session, or if it has expired. */
  get(id: SessionId): Promise<SessionRecord | undefined>;
  /**
   * Stores a new session. Does nothing if it is stored already: another process may have been faster. If the store is
   * full, the share that has most loses its session that was silent the longest. No share loses a session in use
   * (`IN_USE`) for another one, except if it has more than seven eighths of the limit.
   *
   * @throws SessionStoreFull if the record is too large, or if there is no room.
   */
  put(id: SessionId, record: SessionRecord): Promise<void>;
  /**
   * Replaces the settings of a session by the result of `change`, atomically. The rest of the record, which may be large,
   * is not written again. `change` must have no side effects, because it is called again if another process was faster.
   *
   * @returns the new settings; undefined as with `get`.
   * @throws SessionStoreFull as with `put`. The old settings are then kept.
   */
  change(id: SessionId, change: (settings: SessionSettings) => SessionSettings): Promise<SessionSettings | undefined>;
  /** The sessions are in use now, so they expire later. Unknown ones are ignored. */
  touch(ids: readonly SessionId[]): Promise<void>;
  /** Removes a session. Does nothing if there is none. */
  delete(id: SessionId): Promise<void>;
}

/** There is no room for a record of this size. */
export class SessionStoreFull extends Error {
  override readonly name = 'SessionStoreFull';
}

/** The limits of a session store. */
export interface SessionStoreOptions {
  /** Maximum number of sessions. Default 100 000. */
  maxSessions?: number | undefined;
  /** Maximum size of one record in bytes of JSON. Default 256 KiB. */
  maxRecordBytes?: number | undefined;
  /** Maximum size of all records together in bytes of JSON. Default 256 MiB. */
  maxBytes?: number | undefined;
  /** How long a session is kept after its last use, in milliseconds. Default 24 hours. */
  maxAge?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** The limits of a session store, with what the options leave out. */
export interface SessionBounds {
  readonly maxSessions: number;
  readonly maxRecordBytes: number;
  readonly maxBytes: number;
  readonly maxAge: number;
}

/** @throws RangeError if a limit is negative or not a number. */
export function sessionBounds(options: SessionStoreOptions): SessionBounds {
  const {
    maxSessions = 100_000,
    maxRecordBytes = 256 * 1024,
    maxBytes = 256 * 1024 * 1024,
    maxAge = 24 * 3_600_000,
  } = options;
  const bounds = { maxSessions, maxRecordBytes, maxBytes, maxAge };
  checkBounds(bounds);
  return bounds;
}
