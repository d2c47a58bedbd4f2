import { peerUrl } from '../../../base/peer-url.ts';
import { isObject, type ErrorResponse } from '../../../jsonrpc/message.ts';
import { checkMessage, parseJson } from '../../../jsonrpc/parse.ts';
import { mediaType } from '../server/access/guards.ts';
import type { Authorizer } from './authorizer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';
import { HttpStatusError, shown, statusError } from './errors.ts';
import type { HttpReply, HttpRequest, HttpSend } from './http.ts';
import { pooledHttp } from './pooled-http.ts';
import { quoting } from '../../../base/short-text.ts';
import { pause } from '../../../base/wait.ts';
import { Refusals } from './refusals.ts';
import { retryAfter } from './retry-after.ts';
import { isInsufficientScope, parseChallenges } from './www-authenticate.ts';

export interface HttpClientOptions {
  /** Default `pooledHttp()`. */
  readonly http?: HttpSend | undefined;
  /** Sent with each request, for example an API key. Names in any case. Headers of the protocol override them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gives requests their credentials. Default none: 401 and 403 are then errors. */
  readonly authorizer?: Authorizer | undefined;
  /** The largest incoming message, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * How long an event stream may be silent, without even a comment, before its connection counts as lost. Milliseconds,
   * default 10 minutes; 0 for no limit.
   */
  readonly idleTimeout?: number | undefined;
  /**
   * How long to wait in total for one message because of `Retry-After`. Milliseconds, default 30 000. If a server asks
   * for more, the request fails. 0 means never wait.
   */
  readonly maxRetryAfter?: number | undefined;
}

/** Defaults that the transports share. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
export const IDLE_TIMEOUT = 600_000;
const MAX_RETRY_AFTER = 30_000;
/** The shortest delay before a retry, for a server that sends `Retry-After: 0`. Milliseconds. */
const MIN_RETRY_DELAY = 50;
/** The most times that one request is repeated because of `Retry-After`. */
const MAX_DELAYS = 3;
const MAX_REDIRECTS = 5;
/**
 * Statuses that always mean a refusal, whatever the body contains. They do not show which era the server belongs to.
 */
export const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429, 503]);
/** How much of an error's body is read, in bytes. */
const MAX_ERROR_BODY = 64 * 1024;

/** One request to the endpoint, without credentials. */
export interface EndpointRequest {
  readonly method: HttpRequest['method'];
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly cancellation: Lifetime;
  /** Send the request only once: without a login, and without a wait and a retry. Default false. */
  readonly once?: boolean | undefined;
  /** Whether the request need not be sent again after a refusal. Default: it must. */
  readonly isOver?: (() => boolean) | undefined;
}

/**
 * Sends requests to one server. Adds credentials, follows redirects within the origin, and repeats a request if the
 * server refused it with `Retry-After`.
 */
export class Endpoint {
  readonly #http: HttpSend;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #authorizer: Authorizer | undefined;
  readonly #maxRetryAfter: number;

  constructor(options: HttpClientOptions) {
    this.#http = options.http ?? pooledHttp();
    this.#headers = Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    this.#authorizer = options.authorizer;
    this.#maxRetryAfter = options.maxRetryAfter ?? MAX_RETRY_AFTER;
  }

  /** See `Authorizer.loginActiveUntil`. */
  readonly loginActiveUntil = (): number => this.#authorizer?.loginActiveUntil ?? 0;

  /**
   * Resolves with a reply that has a success status. Only requests that certainly did not run are repeated: they were
   * redirected (307, 308), refused for their credential (401, 403), or delayed by the server (429, 503 with
   * `Retry-After`).
   *
   * @throws HttpStatusError for any other status, and for a redirect that is not followed. NotSent or AnswerLost as
   * `HttpSend`. Errors of the authorizer. The reason of the cancellation.
   */
  async send(request: EndpointRequest): Promise<HttpReply> {
    const { method, cancellation, body, once = false, isOver } = request;
    let { url } = request;
    const refusals = this.#authorizer && new Refusals(this.#authorizer);
    let redirects = 0;
    let delays = 0;
    let waited = 0;
    for (;;) {
      let headers = { ...this.#headers, ...request.headers };
      if (this.#authorizer)
        headers = { ...headers, ...(await this.#authorizer.headers({ method, url }, cancellation.signal)) };
      const reply = await this.#http({ method, url, headers, body, cancellation });
      const { status } = reply;
      if (status < 300) return reply;
      if (status < 400) {
        url = this.#redirected(reply, method, url, ++redirects);
        continue;
      }
      // Read the body before waiting: an unread body would keep its connection busy.
      const anonymous = Object.keys(this.#headers).length === 0 && headers['authorization'] === undefined;
      const failure = await failureOf(reply, method, url, anonymous);
      if (once || isOver?.()) throw failure;
      if ((status === 429 || status === 503) && delays < MAX_DELAYS) {
        const requestedDelay = retryAfter(reply.header('retry-after'), Date.now());
        if (requestedDelay === undefined) throw failure;
        const wait = Math.max(requestedDelay, MIN_RETRY_DELAY);
        if (waited + wait > this.#maxRetryAfter) throw failure;
        delays += 1;
        waited += wait;
        // A random delay is added, so that clients with the same `Retry-After` do not all return at once. No client
        // returns too early.
        await pause(wait * (1 + Math.random() / 10), cancellation.signal);
        cancellation.signal.throwIfAborted();
      } else if (!(await refusals?.retry({ method, url, headers }, reply, cancellation.signal))) {
        throw failure;
      }
      // The request may have been cancelled during the wait, or the login.
      if (isOver?.()) throw failure;
    }
  }

  /**
   * The URL to redirect to. A redirect to another origin is refused, because credentials must not go there. So is a
   * status that may change a POST into a GET.
   */
  #redirected(reply: HttpReply, method: string, url: URL, redirects: number): URL {
    const location = reply.header('location');
    const target = location === undefined ? undefined : peerUrl(location, url);
    const fail = (why: string): HttpStatusError => statusError(reply, method, url, why);
    reply.discard();
    if (!target) throw fail('a redirect without a valid Location');
    if (reply.status !== 307 && reply.status !== 308) {
      throw fail(`a redirect to ${shown(target)}, which is not followed because it may change the method`);
    }
    if (target.origin !== url.origin) {
      throw fail(`a redirect to another origin, ${shown(target)}, which is not followed`);
    }
    if (redirects > MAX_REDIRECTS) throw fail(`more than ${MAX_REDIRECTS} redirects`);
    return target;
  }
}

/** Whether a reply has this media type. */
export function isType(reply: HttpReply, type: string): boolean {
  const given = reply.header('content-type') ?? '';
  return given === type || mediaType(given) === type;
}

/** The error for a successful reply to a POST that is neither JSON nor an event stream. The reply is discarded. */
export function notJson(reply: HttpReply, url: URL): HttpStatusError {
  reply.discard();
  const type = reply.header('content-type');
  return statusError(
    reply,
    'POST',
    url,
    type === undefined ? 'there is no JSON body' : quoting`the body is ${type}, not JSON`,
  );
}

/** Reads the error from a reply with an error status. @param anonymous whether no credential was sent */
async function failureOf(reply: HttpReply, method: string, url: URL, anonymous: boolean): Promise<HttpStatusError> {
  const plain = statusError(reply, method, url, reasonOf(reply, anonymous));
  if (!isType(reply, 'application/json')) {
    reply.discard();
    return plain;
  }
  let response: ErrorResponse | undefined;
  try {
    response = errorIn(parseJson(await reply.text(MAX_ERROR_BODY)));
  } catch {
    // The body cannot be read. The status says more than an error about that.
  }
  if (!response) return plain;
  return new HttpStatusError(reply.status, `${plain.message} (${response.error.message})`, response);
}

function errorIn(value: unknown): ErrorResponse | undefined {
  // Some servers omit the fields of JSON-RPC.
  const message = isObject(value) && 'error' in value ? checkMessage({ jsonrpc: '2.0', ...value }) : undefined;
  return message && 'error' in message ? message : undefined;
}

function reasonOf(reply: HttpReply, anonymous: boolean): string | undefined {
  const { status } = reply;
  const later = reply.header('retry-after');
  if ((status === 429 || status === 503) && later !== undefined) return quoting`it asks to retry later (${later})`;
  if (status === 401 && anonymous) return 'it requires credentials, and none were sent: set headers or an authorizer';
  if (status === 401) return 'it requires other credentials';
  if (isInsufficientScope(parseChallenges(reply.header('www-authenticate')))) return 'it requires other scopes';
  return undefined;
}
