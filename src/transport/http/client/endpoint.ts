import { isObject, type ErrorResponse } from '../../../jsonrpc/message.ts';
import { checkMessage, parseJson } from '../../../jsonrpc/parse.ts';
import { mediaType } from '../guards.ts';
import type { Authorizer } from './authorizer.ts';
import type { Lifetime } from '../../../util/lifetime.ts';
import { HttpStatusError, shown, statusError } from './errors.ts';
import type { HttpReply, HttpRequest, HttpSend } from './http.ts';
import { nodeHttp } from './node-http.ts';
import { pause } from './pause.ts';
import { retryAfter } from './retry-after.ts';

export interface HttpClientOptions {
  /** Default `nodeHttp()`. */
  readonly http?: HttpSend | undefined;
  /** Sent with each request: an API key, for one. Names in any case. What the protocol says in headers wins over them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gives requests their credentials. Default none: 401 and 403 are errors then. */
  readonly authorizer?: Authorizer | undefined;
  /** The bound of one incoming message, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * How long an event stream may be silent, without even a comment, before its connection is taken for lost. Milliseconds,
   * default 10 minutes; 0 for ever.
   */
  readonly idleTimeout?: number | undefined;
  /**
   * How long `Retry-After` may ask to wait, in all for one message. Milliseconds, default 30 000. A server that asks for more
   * is not waited for; 0 waits for none.
   */
  readonly maxRetryAfter?: number | undefined;
}

/** Defaults that the transports share. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
export const IDLE_TIMEOUT = 600_000;
const MAX_RETRY_AFTER = 30_000;
/** What a server that says 0 is given, in milliseconds. */
const MIN_RETRY_DELAY = 50;
/** How often one request is sent again for each time that the server says. */
const MAX_DELAYS = 3;
/** The same where an authorizer thinks it worthwhile, which has limits of its own and can say why it gives up. */
const MAX_REFUSALS = 20;
const MAX_REDIRECTS = 5;
/** What is read of the body of an error, in bytes. */
const MAX_ERROR_BODY = 64 * 1024;

/** One request to the endpoint, before credentials are put to it. */
export interface EndpointRequest {
  readonly method: HttpRequest['method'];
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly cancellation: Lifetime;
  /** It matters too little for a person to log in for it, or to wait and try again. Default false. */
  readonly once?: boolean | undefined;
}

/**
 * Sends requests to one server: with credentials, through redirects within its origin, and again where it has turned one
 * away and says when to come back.
 */
export class Endpoint {
  readonly #http: HttpSend;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #authorizer: Authorizer | undefined;
  readonly #maxRetryAfter: number;

  constructor(options: HttpClientOptions) {
    this.#http = options.http ?? nodeHttp();
    this.#headers = Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    this.#authorizer = options.authorizer;
    this.#maxRetryAfter = options.maxRetryAfter ?? MAX_RETRY_AFTER;
  }

  /** See `Authorizer.loginActiveUntil`. */
  readonly loginActiveUntil = (): number => this.#authorizer?.loginActiveUntil ?? 0;

  /**
   * Resolves with a reply whose status is a success. What is sent again had certainly not run: it was redirected (307, 308),
   * refused for its credential (401, 403), or turned away until later (429, 503 with `Retry-After`).
   *
   * @throws HttpStatusError for any other status, and for a redirect that is not followed; NotSent or AnswerLost as
   * `HttpSend`; what the authorizer throws; the reason of the cancellation.
   */
  async send(request: EndpointRequest): Promise<HttpReply> {
    const { method, cancellation, body, once = false } = request;
    let { url } = request;
    let refusals = 0;
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
      // Its body is read before anything is waited for: unread, it would hold its connection.
      const failure = await failureOf(reply, method, url);
      if (once) throw failure;
      if (this.#authorizer && isRefusal(reply) && refusals < MAX_REFUSALS) {
        refusals += 1;
        if (!(await this.#authorizer.refused({ method, url, headers }, reply, cancellation.signal))) throw failure;
      } else if ((status === 429 || status === 503) && delays < MAX_DELAYS) {
        const asked = retryAfter(reply.header('retry-after'), Date.now());
        if (asked === undefined) throw failure;
        const wait = Math.max(asked, MIN_RETRY_DELAY);
        if (waited + wait > this.#maxRetryAfter) throw failure;
        delays += 1;
        waited += wait;
        // Those who were told the same time should not all come at once; never earlier than it says.
        await pause(wait * (1 + Math.random() / 10), cancellation);
      } else {
        throw failure;
      }
    }
  }

  /** Credentials go to no other origin, and what was asked must not become a GET. */
  #redirected(reply: HttpReply, method: string, url: URL, redirects: number): URL {
    const location = reply.header('location');
    const target = location === undefined || !URL.canParse(location, url.href) ? undefined : new URL(location, url);
    const fail = (why: string): HttpStatusError => statusError(reply, method, url, why);
    reply.discard();
    if (!target) throw fail('a redirect that says not where to');
    if (reply.status !== 307 && reply.status !== 308) {
      throw fail(`a redirect to ${shown(target)} that would not keep the method and is not followed`);
    }
    if (target.origin !== url.origin) {
      throw fail(`a redirect to another origin, ${shown(target)}, which is not followed`);
    }
    if (redirects > MAX_REDIRECTS) throw fail(`more than ${MAX_REDIRECTS} redirects`);
    return target;
  }
}

/** Whether a reply refuses the credential: 401, or 403 that says that its scopes do not suffice. */
function isRefusal(reply: HttpReply): boolean {
  if (reply.status === 401) return true;
  return reply.status === 403 && /\berror="?insufficient_scope\b/i.test(reply.header('www-authenticate') ?? '');
}

/** Whether a reply is of this media type. */
export function isType(reply: HttpReply, type: string): boolean {
  const given = reply.header('content-type') ?? '';
  return given === type || mediaType(given) === type;
}

/** Reads the error out of a reply that is no success. */
async function failureOf(reply: HttpReply, method: string, url: URL): Promise<HttpStatusError> {
  const plain = statusError(reply, method, url, reasonOf(reply));
  if (!isType(reply, 'application/json')) {
    reply.discard();
    return plain;
  }
  let response: ErrorResponse | undefined;
  try {
    response = errorIn(parseJson(await reply.text(MAX_ERROR_BODY)));
  } catch {
    // The status says more than that its body cannot be read.
  }
  if (!response) return plain;
  return new HttpStatusError(reply.status, `${plain.message} (${response.error.message})`, response);
}

function errorIn(value: unknown): ErrorResponse | undefined {
  // Some servers leave out what makes it JSON-RPC.
  const message = isObject(value) && 'error' in value ? checkMessage({ jsonrpc: '2.0', ...value }) : undefined;
  return message && 'error' in message ? message : undefined;
}

function reasonOf(reply: HttpReply): string | undefined {
  const { status } = reply;
  const later = reply.header('retry-after');
  if ((status === 429 || status === 503) && later !== undefined) return `it asks to come back later (${later})`;
  if (status === 401) return 'it wants other credentials';
  return undefined;
}
