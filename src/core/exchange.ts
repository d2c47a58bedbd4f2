import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { AuthInfo, Implementation } from '../protocol/types.ts';

/** The lifetime that state may hang on. A handshake session has one; a modern request has none. */
export interface Session {
  /** Unique in this process; not a secret, and not the id on the wire. */
  readonly id: string;
  /** Fires when the session is over: ended, expired, or its connection gone for good. */
  readonly signal: AbortSignal;
}

/** Who is asking, and what they can do. */
export interface Caller {
  /** The revision that the caller speaks. */
  readonly revision: Revision;
  /** What the caller says of itself: nothing to decide by. */
  readonly clientInfo: Implementation | undefined;
  /** The caller's capabilities as it declared them. */
  readonly capabilities: JsonObject;
  /** Who the transport authenticated, if anyone. */
  readonly principal: string | undefined;
  /** What else is known of the principal, where it showed a credential. Never the credential itself. */
  readonly auth: AuthInfo | undefined;
  /**
   * The least severe log message that the caller asked for; undefined where it said nothing. The inbound side decides
   * what silence means in its era, and filters; a service may look here to save itself work.
   */
  readonly logLevel: LogLevel | undefined;
  /** Undefined where the revision has no sessions (2026-07-28). */
  readonly session: Session | undefined;
}

/** How a question is asked. */
export interface AskOptions {
  /** Takes the question back. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What the question is called among those of its request, where the caller is told a name (2026-07-28). Unique in the
   * request; one is made up where none is given.
   */
  readonly key?: string | undefined;
  /**
   * Whether the question stays open after its request was answered, because another request of the same caller may have
   * asked it. Default false: the question ends with its request.
   */
  readonly outlivesRequest?: boolean | undefined;
}

/** A question did not reach the caller, because its request had ended. It can be asked through another request. */
export class NotAsked extends RpcError {
  constructor(method: string, request: string) {
    super(ErrorCode.InvalidRequest, `${method} was not asked: the ${request} request that it belongs to has ended`);
  }
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
   * @throws RpcError with the caller's error; where the caller lacks the capability, and nothing is sent then, with
   * −32601, or −32021 from 2026-07-28. NotAsked where the request had ended before the caller was asked.
   */
  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject>;
  /**
   * A header of the HTTP request, by its name in lower case; credentials are not shown. Absent over other transports.
   */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /**
   * What the handler of the request noted, by a name of its own, to find it again should it run anew for the same request
   * (`Context.once`). What can be written as JSON. Made on first use.
   */
  readonly notes: Map<string, unknown>;
}

/**
 * A server, as a function. It speaks the newest revision's vocabulary: `server/discover` describes it,
 * `subscriptions/listen` is one long exchange whose `notify` carries change notifications until its signal fires.
 * A result without `resultType` is complete; without `ttlMs` it is stale at once; without `cacheScope` it is private.
 *
 * Rejects with an `RpcError` (anything else becomes an internal error).
 */
export type Service = (exchange: Exchange) => Promise<JsonObject>;

/** Goes around a service: `(next) => (exchange) => next(exchange)` changes nothing. */
export type Middleware = (next: Service) => Service;

/** Puts middleware around a service; the first one given is the outermost. */
export function compose(service: Service, ...middleware: readonly Middleware[]): Service {
  return middleware.reduceRight((next, wrap) => wrap(next), service);
}
