import type { TransportFailure } from '../../../jsonrpc/error-chain.ts';
import { printableMessage } from '../../../base/printable.ts';
import { ErrorCode } from '../../../jsonrpc/errors.ts';
import type { ErrorResponse } from '../../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import { saysNotExecuted } from '../not-executed.ts';
import type { HttpReply } from './http.ts';

/** 301, 302 and 303 may also follow a request that ran (RFC 9110, section 15.4.4). */
const NOT_EXECUTED_STATUSES: ReadonlySet<number> = new Set([307, 308, 401, 403, 405, 406, 407, 413, 415, 429, 431]);

/** A server, or a proxy in front of it, responded with an HTTP error status. */
export class HttpStatusError extends Error implements TransportFailure {
  override readonly name = 'HttpStatusError';
  readonly status: number;
  /** The JSON-RPC error in the body, if there is one. */
  readonly response: ErrorResponse | undefined;
  /** Whether the request certainly did not run: the status shows it, or the server says so. */
  readonly notExecuted: boolean;
  /** Whether another attempt may succeed, because the server has a temporary problem and did not refuse the request. */
  readonly temporary: boolean;

  constructor(status: number, message: string, response?: ErrorResponse) {
    // The message may contain text of the server.
    super(printableMessage(message));
    this.status = status;
    this.temporary = status >= 500 || status === 408 || status === 429;
    this.response = response;
    this.notExecuted = NOT_EXECUTED_STATUSES.has(status) || saysNotExecuted(response);
  }
}

/**
 * The server no longer knows the session (2025-11-25, transports: Session Management, 4). A new one must be opened with
 * `initialize`.
 */
export class SessionGone extends Error implements TransportFailure {
  override readonly name = 'SessionGone';
  readonly sessionGone = true;
  /** The error code of a request that fails with it. */
  readonly code = CONNECTION_CLOSED;
  /** Whether the message that failed with this error certainly did not run. */
  readonly notExecuted: boolean;

  constructor(notExecuted: boolean) {
    super(
      notExecuted
        ? 'The server no longer knows the session and did not accept the message'
        : 'The server no longer knows the session',
    );
    this.notExecuted = notExecuted;
  }
}

/**
 * No answer came: the connection was lost or silent for too long, or the response ended too early. The request may have
 * run.
 */
export class AnswerLost extends Error implements TransportFailure {
  override readonly name = 'AnswerLost';
  readonly notExecuted = false;
  readonly temporary = true;
  /** The error code of a request that fails with it. */
  readonly code = CONNECTION_CLOSED;

  constructor(message: string, options?: ErrorOptions) {
    super(printableMessage(message), options);
  }
}

/** The origin of a URL for error messages. A URL such as `file:///etc` has none, so its scheme is shown. */
export function originOf({ origin, protocol }: URL): string {
  return origin === 'null' ? protocol : origin;
}

/** A URL for error messages: without credentials, and without the query, which may contain tokens. */
export function shown(url: URL): string {
  return originOf(url) + url.pathname;
}

/** The error for a reply with an error status. */
export function statusError(reply: Pick<HttpReply, 'status'>, method: string, url: URL, why?: string): HttpStatusError {
  const message = `The server answered ${method} ${shown(url)} with status ${reply.status}`;
  return new HttpStatusError(reply.status, why === undefined ? message : `${message}: ${why}`);
}

/**
 * Whether the server reports that it does not know the session. Status 404 says so, unless the error is about an
 * unknown method. Servers that follow the example of the official SDK send 400.
 */
export function isSessionGone({ status, response }: HttpStatusError): boolean {
  if (status === 404) return response?.error.code !== ErrorCode.MethodNotFound;
  return status === 400 && response?.error.code === CONNECTION_CLOSED && /\bsession\b/i.test(response.error.message);
}
