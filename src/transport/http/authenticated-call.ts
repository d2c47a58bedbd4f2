import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';

/** A call whose sender has shown who they are. It shows the credential to nobody any more. */
export class AuthenticatedCall implements HttpCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal: string;
  readonly auth: AuthInfo;
  readonly #call: HttpCall;
  readonly #credentials: ReadonlySet<string> | undefined;

  constructor(call: HttpCall, auth: AuthInfo, credentials: ReadonlySet<string> | undefined) {
    this.method = call.method;
    this.path = call.path;
    this.query = call.query;
    this.principal = auth.principal;
    this.auth = auth;
    this.#call = call;
    this.#credentials = credentials;
  }

  get bodyBytes(): number {
    return this.#call.bodyBytes;
  }

  get gone(): boolean {
    return this.#call.gone;
  }

  header(name: string): string | undefined {
    if (name === 'authorization' || this.#credentials?.has(name)) return undefined;
    return this.#call.header(name);
  }

  readBody(limit: number, done: (body: Uint8Array | undefined) => void): void {
    this.#call.readBody(limit, done);
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.#call.respond(status, headers, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return this.#call.stream(status, headers);
  }
}
