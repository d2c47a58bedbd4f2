import type { AuthInfo } from '../../../protocol/types.ts';
import type { AboutRefusal, BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpStream, RefusalReason } from './call.ts';

/** Wraps a call. A subclass overrides what it changes. */
export class RewrittenCall implements HttpCall {
  readonly method: string;
  readonly path: string;
  readonly originalPath: string | undefined;
  readonly query: string;
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  readonly #call: HttpCall;

  /** @param auth the sender, if it has been authenticated since. */
  constructor(call: HttpCall, auth?: AuthInfo) {
    this.method = call.method;
    this.path = call.path;
    this.originalPath = call.originalPath;
    this.query = call.query;
    this.principal = auth ? auth.principal : call.principal;
    this.auth = auth ?? call.auth;
    this.#call = call;
  }

  get bodyBytes(): number {
    return this.#call.bodyBytes;
  }

  get address(): string | undefined {
    return this.#call.address;
  }

  get gone(): boolean {
    return this.#call.gone;
  }

  header(name: string): string | undefined {
    return this.#call.header(name);
  }

  readBody(limit: number, share: string | undefined): Promise<Uint8Array | BodyRefusal> {
    return this.#call.readBody(limit, share);
  }

  refused(reason: RefusalReason, status: number, about?: AboutRefusal): void {
    const { principal } = this;
    this.#call.refused(reason, status, principal === undefined ? about : { principal, ...about });
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.#call.respond(status, headers, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return this.#call.stream(status, headers);
  }
}
