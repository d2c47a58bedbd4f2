import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { Implementation } from '../protocol/types.ts';

/** The lifetime that state may hang on. A handshake session has one; a modern request has none. */
export interface Session {
  /** Unique in this process; not a secret, and not the id on the wire. */
  readonly id: string;
  /** Fires when the session is over: ended, expired, or its connection gone for good. */
  readonly signal: AbortSignal;
}

/** Who is asking, and what they can do. */
export interface Caller {
  readonly revision: Revision;
  readonly clientInfo: Implementation | undefined;
  /** The caller's capabilities as it declared them. */
  readonly capabilities: JsonObject;
  /** Who the transport authenticated, if anyone. */
  readonly principal: string | undefined;
  /**
   * The least severe log message that the caller asked for; undefined where it said nothing. The inbound side decides
   * what silence means in its era, and filters; a service may look here to save itself work.
   */
  readonly logLevel: LogLevel | undefined;
  readonly session: Session | undefined;
}

/**
 * One request being answered, whatever revision and transport it came in on.
 *
 * A notification from the caller that belongs to no exchange (`notifications/roots/list_changed`, or one that nobody
 * here knows) arrives as an exchange too: its method starts with `notifications/` and its result is ignored.
 */
export interface Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  /** Fires when the caller cancelled, or is gone for good. Made on first use: it is not free. */
  readonly signal: AbortSignal;
  /**
   * Sends a notification that belongs to this request; resolves when the transport has taken it, which is how a slow
   * reader holds a fast writer back. Need not be awaited: a rejection that nobody handles does no harm, and the side
   * that made the exchange reports it.
   */
  notify(method: string, params?: JsonObject): Promise<void>;
  /**
   * Asks the caller for something in the middle of the request: elicitation, sampling, roots.
   *
   * @param signal takes the question back.
   * @throws RpcError with the caller's error; with −32601 where the caller lacks the capability (nothing is sent then).
   */
  ask(method: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject>;
}

/**
 * A server, as a function. It speaks the newest revision's vocabulary: `server/discover` describes it,
 * `subscriptions/listen` is one long exchange whose `notify` carries change notifications until its signal fires.
 * A result without `resultType` is complete; without `ttlMs` it is stale at once; without `cacheScope` it is private.
 *
 * Rejects with an `RpcError` (anything else becomes an internal error).
 */
export type Service = (exchange: Exchange) => Promise<JsonObject>;

export type Middleware = (next: Service) => Service;

/** Puts middleware around a service; the first one given is the outermost. */
export function compose(service: Service, ...middleware: readonly Middleware[]): Service {
  return middleware.reduceRight((next, wrap) => wrap(next), service);
}
