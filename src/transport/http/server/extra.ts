import type { AuthInfo } from '../../../protocol/types.ts';
import type { MessageExtra } from '../../transport.ts';
import type { HttpCall } from './call.ts';

/** Headers that carry or may carry secrets. They are not passed on beyond the transport. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'dpop',
]);

/** What HTTP says about a message. */
export class CallExtra implements MessageExtra {
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  readonly address: string | undefined;
  readonly bytes: number;
  readonly header: (name: string) => string | undefined;

  /** @param among the number of messages in the body of the call. */
  constructor(call: HttpCall, among = 1) {
    this.principal = call.principal;
    this.auth = call.auth;
    this.address = call.address;
    this.bytes = call.bodyBytes / among;
    // V8 creates a function that is assigned to a property in the old generation, where it and the call that it names
    // stay until a full collection. So it is a variable first, here and wherever each call creates a function.
    const header = (name: string): string | undefined => (CREDENTIALS.has(name) ? undefined : call.header(name));
    this.header = header;
  }
}
