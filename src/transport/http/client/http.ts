import type { Lifetime } from '../../../base/lifetime.ts';
import type { TransportFailure } from '../../../jsonrpc/error-chain.ts';

/**
 * One HTTP request of the client transports. It is sent once, never redirected and never repeated. The transports
 * handle refusals, redirects and lost connections.
 */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Aborts the request and its response. Reads that wait for it fail with the reason. */
  readonly cancellation?: Lifetime | undefined;
}

/** The headers of a response, and its body. The body can be read or discarded once. */
export interface HttpReply {
  readonly status: number;
  /** A header of the response. Undefined if the response has no such header. @param name in lower case. */
  header(name: string): string | undefined;
  /**
   * Reads the whole body.
   *
   * @throws Error if the body is larger than `limit` bytes, or if the connection is lost.
   */
  text(limit: number): Promise<string>;
  /** The body as it arrives. Leaving the loop aborts the response. Throws if the connection is lost. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Discards the body. An unread body would keep its connection busy. */
  discard(): void;
}

/**
 * Sends a request. Resolves with the headers of the response.
 *
 * @throws NotSent if the request certainly did not reach the server. Any other error if it may have.
 */
export interface HttpSend {
  (request: HttpRequest): Promise<HttpReply>;
  /** Closes all connections, when no more requests will come. Requests in flight fail. */
  readonly close?: (() => void) | undefined;
}

/** The request certainly did not reach the server, so it can be repeated. */
export class NotSent extends Error implements TransportFailure {
  override readonly name = 'NotSent';
  readonly unreachable = true;
  readonly notExecuted = true;
  readonly temporary = true;
}
