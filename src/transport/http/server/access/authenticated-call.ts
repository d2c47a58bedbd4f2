import type { AuthInfo } from '../../../../protocol/types.ts';
import type { HttpCall } from '../call.ts';
import { RewrittenCall } from '../rewritten-call.ts';

/** A call with a verified sender. It no longer exposes the credential. */
export class AuthenticatedCall extends RewrittenCall {
  readonly #credentials: ReadonlySet<string> | undefined;

  constructor(call: HttpCall, auth: AuthInfo, credentials: ReadonlySet<string> | undefined) {
    super(call, auth);
    this.#credentials = credentials;
  }

  override header(name: string): string | undefined {
    if (name === 'authorization' || this.#credentials?.has(name)) return undefined;
    return super.header(name);
  }
}
