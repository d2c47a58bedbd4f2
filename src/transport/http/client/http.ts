import type { Lifetime } from '../../../util/lifetime.ts';
import type { TransportFailure } from '../../../jsonrpc/error-chain.ts';

/**
 * One HTTP request, as the client transports need it: sent once, never redirected, never retried. What a refusal, a
 * redirect or a loss means is for them to say.
 */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Breaks the request off, its response too; what waits for either fails with its reason. */
  readonly cancellation?: Lifetime | undefined;
}

/** The head of a response, and its body, which is read once or discarded. */
export interface HttpReply {
  readonly status: number;
  /** A header of the response; undefined where it has none. @param name in lower case. */
  header(name: string): string | undefined;
  /**
   * All of the body.
   *
   * @throws Error where it is larger than `limit` bytes, or breaks off.
   */
  text(limit: number): Promise<string>;
  /** The body as it comes. Leaving the loop breaks the response off. Throws where the connection is lost. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Lets go of the body: unread, it would hold its connection. */
  discard(): void;
}

/**
 * Sends a request; resolves with the head of the response.
 *
 * @throws NotSent where the request certainly did not reach the server; any other error where it may have.
 */
export interface HttpSend {
  (request: HttpRequest): Promise<HttpReply>;
  /** Closes the connections that are kept for the next request, when no more is to come. */
  readonly close?: (() => void) | undefined;
}

/** A request that certainly did not reach the server: it can be repeated, whatever it was. */
export class NotSent extends Error implements TransportFailure {
  override readonly name = 'NotSent';
  readonly unreachable = true;
  readonly notExecuted = true;
  readonly temporary = true;
}
