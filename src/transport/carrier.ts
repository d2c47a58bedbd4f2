import type { Lifetime } from '../util/lifetime.ts';
import type { TransportFailure } from '../jsonrpc/error-chain.ts';
import type { JsonObject, Notification, Response } from '../jsonrpc/message.ts';

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

/** A response; an error may have come with an HTTP status that is no success. */
export type CarriedResponse = Response & { readonly failure?: TransportFailure };

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
  request(request: CarriedRequest): Promise<CarriedResponse>;
  close(): Promise<void>;
  readonly closed: boolean;
  /** Why the connection was lost, where there is one and that is known. */
  readonly closeReason?: Error | undefined;
  onclose: (() => void) | undefined;
}
