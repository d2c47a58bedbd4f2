import { quoting } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { AuthInfo, Implementation } from '../protocol/types.ts';

/** The lifetime of per-session state. A handshake session has one; a modern request has none. */
export interface Session {
  /** Unique in this process; not a secret, and not the id on the wire. */
  readonly id: string;
  /** Fires when the session ends, expires, or loses its connection permanently. */
  readonly signal: AbortSignal;
  /** The same in all processes that share the session. Not a secret. Undefined if only this process can have it. */
  readonly sharedId?: string | undefined;
  /** Whether another process opened it. Default false. */
  readonly revived?: boolean | undefined;
  /** Whether the session has ended in all processes, and not only in this one. Set before `signal` fires. Default false. */
  readonly endedEverywhere?: boolean | undefined;
}

/** The sender of a request, and its capabilities. */
export interface Caller {
  /** The revision that the caller speaks. */
  readonly revision: Revision;
  /** What the client claims about itself. Do not base decisions on it. */
  readonly clientInfo: Implementation | undefined;
  /** The caller's capabilities as it declared them. */
  readonly capabilities: JsonObject;
  /** The authenticated identity of the caller, if any. */
  readonly principal: string | undefined;
  /** Further data about the principal, if it sent a credential. Never contains the credential itself. */
  readonly auth: AuthInfo | undefined;
  /**
   * The address at the other end of its connection, if known: that of the client, or of a proxy. For a session, that from
   * which it was opened at this process.
   */
  readonly address?: string | undefined;
  /**
   * The least severe log level that the caller requested; undefined if it requested none. The inbound side applies the
   * default of its era and filters. A service may read this to avoid needless work.
   */
  readonly logLevel: LogLevel | undefined;
  /** Undefined if the revision has no sessions (2026-07-28). */
  readonly session: Session | undefined;
}

/** Options of a question to the caller. */
export interface AskOptions {
  /** Cancels the question. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The key of the question in its request. Callers of 2026-07-28 see it. Must be unique in the
   * request. Default: generated.
   */
  readonly key?: string | undefined;
  /**
   * Whether the question stays open after its request was answered. Used if another request of the same caller may have
   * asked it. Default false: the question ends with its request.
   */
  readonly outlivesRequest?: boolean | undefined;
}

/** A question did not reach the caller, because its request had ended. It can be asked through another request. */
export class NotAsked extends RpcError {
  constructor(method: string, request: string) {
    super(
      ErrorCode.InvalidRequest,
      quoting`${method} was not asked: the ${request} request that it belongs to has ended`,
    );
  }
}

/**
 * One request that is being answered, of any revision and transport.
 *
 * A notification from the caller that belongs to no exchange (`notifications/roots/list_changed`, or an unknown one)
 * also arrives as an exchange. Its method starts with `notifications/`, and its result is ignored.
 */
export interface Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  /**
   * Fires when the caller cancels or disconnects permanently. Created on first use, because creating a signal is slow.
   */
  readonly signal: AbortSignal;
  /**
   * Sends a notification that belongs to this request. Resolves when the transport has accepted it, so that a fast
   * sender waits for a slow reader. It need not be awaited: an unhandled rejection is harmless, because the creator of
   * the exchange reports it.
   */
  notify(method: string, params?: JsonObject): Promise<void>;
  /**
   * Asks the caller a question during the request: elicitation, sampling, roots.
   *
   * @throws RpcError with the caller's error. If the caller lacks the capability, nothing is sent and the code is −32601,
   * or −32021 from 2026-07-28. NotAsked if the request ended before the question was sent.
   */
  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject>;
  /**
   * A header of the HTTP request, by its name in lower case; credentials are not shown. Absent over other transports.
   */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /**
   * Values that the handler stored by name, so that it finds them if it runs again for the same request
   * (`Context.once`). They must be JSON. Created on first use.
   */
  readonly notes: Map<string, unknown>;
}

/**
 * A server as a function. It uses the vocabulary of the newest revision. `server/discover` describes it.
 * `subscriptions/listen` is one long exchange: its `notify` carries change notifications until its signal fires. A
 * result without `resultType` is complete, without `ttlMs` it is stale at once, and without `cacheScope` it is private.
 *
 * Rejects with an `RpcError`. Any other error becomes an internal error.
 */
export type Service = (exchange: Exchange) => Promise<JsonObject>;

/** Wraps a service. `(next) => (exchange) => next(exchange)` changes nothing. */
export type Middleware = (next: Service) => Service;

/** Wraps a service in middleware. The first one given is the outermost. */
export function compose(service: Service, ...middleware: readonly Middleware[]): Service {
  return middleware.reduceRight((next, wrap) => wrap(next), service);
}
