import type { Lifetime } from '../../../base/lifetime.ts';
import { BodyBuffer } from '../body-buffer.ts';
import { AnswerLost, shown } from './errors.ts';
import { reasonOf, UNKNOWN_ISSUER } from './reason.ts';
import { NotSent, type HttpReply, type HttpSend } from './http.ts';

/** The error codes which show that `fetch` has sent nothing. */
const BEFORE_SENDING: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  ...UNKNOWN_ISSUER,
]);

/**
 * Sends requests with a `fetch`, if sockets cannot be used or a `fetch` wrapper is required. A fetch costs several
 * times as much as a request of `pooledHttp`.
 *
 * @param fetch Default: the global one, looked up with each request.
 */
export function fetchHttp(fetch?: typeof globalThis.fetch): HttpSend {
  return async ({ method, url, headers, body, cancellation }) => {
    let response: Response;
    try {
      response = await (fetch ?? globalThis.fetch)(url.href, {
        method,
        headers: { 'accept-encoding': 'identity', ...headers },
        body: body ?? null,
        redirect: 'manual',
        signal: cancellation?.signal ?? null,
      });
    } catch (error) {
      if (cancellation?.ended) throw cancellation.ended;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
      const { code } = cause as NodeJS.ErrnoException;
      const why = reasonOf(cause);
      if (BEFORE_SENDING.has(code)) throw new NotSent(`${shown(url)} cannot be reached: ${why}`, { cause: error });
      throw new AnswerLost(`The connection to ${shown(url)} was lost before an answer came: ${why}`, { cause: error });
    }
    // A browser hides where a redirect leads, so its origin cannot be checked.
    if (response.type === 'opaqueredirect')
      throw new AnswerLost(`${shown(url)} redirects: connect to the URL that it redirects to`);
    return new FetchReply(response, url, cancellation);
  };
}

class FetchReply implements HttpReply {
  readonly status: number;
  readonly #response: Response;
  readonly #url: URL;
  readonly #cancellation: Lifetime | undefined;

  constructor(response: Response, url: URL, cancellation: Lifetime | undefined) {
    this.status = response.status;
    this.#response = response;
    this.#url = url;
    this.#cancellation = cancellation;
  }

  header(name: string): string | undefined {
    return this.#response.headers.get(name) ?? undefined;
  }

  async text(limit: number): Promise<string> {
    const body = new BodyBuffer();
    for await (const chunk of this.chunks()) {
      if (body.length + chunk.byteLength > limit)
        throw new AnswerLost(`The answer of ${shown(this.#url)} is larger than ${limit} bytes`);
      body.push(chunk);
    }
    return new TextDecoder().decode(body.take());
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    // Not every browser can iterate over a body.
    const reader = this.#response.body?.getReader();
    if (!reader) return;
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
    } catch (error) {
      if (this.#cancellation?.ended) throw this.#cancellation.ended;
      throw new AnswerLost(`The answer of ${shown(this.#url)} ended too early: ${(error as Error).message}`, {
        cause: error,
      });
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  discard(): void {
    // An error of a body that has already failed is not reported.
    this.#response.body?.cancel().catch(() => {});
  }
}
