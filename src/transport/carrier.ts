import type { Lifetime } from '../util/lifetime.ts';
import type { ErrorObject, JsonObject, Notification, Response } from '../jsonrpc/message.ts';

export interface CarriedRequest {
  readonly method: string;
  /** With the `_meta` of the revision in it. */
  readonly params: JsonObject;
  /** What HTTP mirrors in headers, by names in lower case; other transports have no use for it. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Its end cancels the request: the stream is closed, or `notifications/cancelled` sent. */
  readonly lifetime: Lifetime;
  /** Hears what belongs to the request, before its response. */
  readonly onnotification: (notification: Notification) => void;
}

/**
 * Carries requests of a revision without sessions to a server, each for itself: over HTTP as a POST, over any other
 * transport by its id (2026-07-28, transports).
 */
export interface Carrier {
  /** Whether `headers` of requests go out. Where they do not, nobody needs to find out what they would say. */
  readonly mirrorsHeaders: boolean;
  /**
   * Resolves with the response, under whatever id. For a `subscriptions/listen` that is when it ends.
   *
   * @throws why the lifetime ended where it was cancelled; Error where the connection is lost before the response.
   */
  request(request: CarriedRequest): Promise<Response>;
  close(): Promise<void>;
  readonly closed: boolean;
  /** Why the connection was lost, where there is one and that is known. */
  readonly closeReason?: Error | undefined;
  onclose: (() => void) | undefined;
}

const refusals = new WeakMap<ErrorObject, Error>();

/** Notes with which status that is no success an error response came: a carrier does that which knows it. */
export function noteRefusal(error: ErrorObject, status: Error): void {
  refusals.set(error, status);
}

/** With which status an error response came, as an error; undefined where it came as any other response. */
export function refusalOf(error: ErrorObject): Error | undefined {
  return refusals.get(error);
}
