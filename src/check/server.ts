import type { Authorizer } from '../transport/http/client/authorizer.ts';
import type { CommandTarget } from '../client/target.ts';
import type { GivenAnswers } from './questions.ts';
import type { JsonObject } from '../jsonrpc/message.ts';

/** The server that is checked. */
export type CheckedServer =
  | { readonly kind: 'command'; readonly target: CommandTarget }
  | {
      readonly kind: 'url';
      readonly url: URL;
      /** Sent with each request. */
      readonly headers: Readonly<Record<string, string>>;
      /** Gets tokens. Undefined if the headers have the credentials. */
      readonly authorizer?: Authorizer | undefined;
      /** The only transport to use. Default: detected. */
      readonly transport?: 'http' | 'sse' | undefined;
    };

/** A call that the user allows. */
export interface AllowedCall {
  readonly tool: string;
  readonly args: JsonObject;
}

/** How a server is checked. */
export interface CheckOptions {
  /** The only tools that are called. Default none. */
  readonly calls?: readonly AllowedCall[] | undefined;
  /** Answers to the server's questions. All others are declined, and there are no roots. */
  readonly answers?: GivenAnswers | undefined;
  /** How long the server may take to answer a request, in milliseconds. Default 5 000. */
  readonly patience?: number | undefined;
  /** Ends the check. */
  readonly signal?: AbortSignal | undefined;
  /** Called with what is done next, to show to users. */
  readonly onstep?: ((step: string) => void) | undefined;
  /** Called with each line that a started server writes to stderr. */
  readonly onstderr?: ((line: string) => void) | undefined;
}
