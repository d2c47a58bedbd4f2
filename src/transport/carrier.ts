import type { Lifetime } from '../base/lifetime.ts';
import type { TransportFailure } from '../jsonrpc/error-chain.ts';
import type { JsonObject, Notification, Response } from '../jsonrpc/message.ts';

export interface CarriedRequest {
  readonly method: string;
  /** Includes the `_meta` fields that the revision requires. */
  readonly params: JsonObject;
  /** The parameters that HTTP repeats in headers, by lower-case name. Other transports ignore them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * When it ends, the request is cancelled: over HTTP by closing the stream, otherwise with `notifications/cancelled`.
   */
  readonly lifetime: Lifetime;
  /** Called with notifications that belong to the request, before its response. */
  readonly onnotification: (notification: Notification) => void;
}

/** A response. An error response may have come with an HTTP error status. */
export type CarriedResponse = Response & { readonly failure?: TransportFailure };

/**
 * Carries independent requests of a revision without sessions to a server: over HTTP as POST requests, over other
 * transports as requests with ids of their own (2026-07-28, transports).
 */
export interface Carrier {
  /** Whether the `headers` of requests are sent. If not, callers need not compute them. */
  readonly mirrorsHeaders: boolean;
  /**
   * Resolves with the response, whatever its id. A `subscriptions/listen` resolves when it ends.
   *
   * @throws the reason if the lifetime ended. Error if the connection is lost before the response.
   */
  request(request: CarriedRequest): Promise<CarriedResponse>;
  close(): Promise<void>;
  readonly closed: boolean;
  /** Why the connection was lost, if it was and the reason is known. */
  readonly closeReason?: Error | undefined;
  onclose: (() => void) | undefined;
}
