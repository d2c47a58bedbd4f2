import type { AuthorizationServer } from 'oauth4webapi';
import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Challenge } from '../../transport/http/client/www-authenticate.ts';
import type { Identity } from '../client/client-authentication.ts';
import type { Issued } from '../client/token-endpoint.ts';
import type { Exchange, Reply } from './exchange-log.ts';
import type { AuthorizedRevision } from './step.ts';

/** A metadata document, and where it was found. */
export interface Found {
  readonly url: string;
  readonly reply: Reply;
  readonly json: JsonObject;
}

/** What is known after a step. Each step adds to it, and the checks of the step judge it. */
export interface Facts {
  readonly endpoint: URL;
  readonly revision: AuthorizedRevision;
  /** The exchanges of the step that is judged. */
  exchanges: readonly Exchange[];
  /** The response to the request without a token. */
  refusal?: Reply | undefined;
  challenges: readonly Challenge[];
  /** The protected-resource metadata, also if the client does not accept it. */
  resourceDocument?: Found | undefined;
  /** Whether the client accepts its resource. */
  resourceAccepted?: boolean | undefined;
  /** The resource identifier that tokens are requested for. */
  resource: string;
  /** The issuer that the resource metadata names, or the origin of the server. */
  issuer: string;
  /** The authorization-server metadata, also if the client does not accept it. */
  serverDocument?: Found | undefined;
  /** The authorization server that is used. Without metadata, it has default endpoints. */
  server?: AuthorizationServer | undefined;
  client?: Identity | undefined;
  registeredBy?: 'static' | 'document' | 'dynamic' | undefined;
  redirectUri?: string | undefined;
  /** The parameters of the authorization request as it was sent. */
  parameters?: URLSearchParams | undefined;
  /** What came back to the redirect URI. */
  answer?: URLSearchParams | undefined;
  tokens?: Issued | undefined;
  /** The refresh token that was sent, and the one in the response. */
  usedRefreshToken?: string | undefined;
  nextRefreshToken?: string | undefined;
  /** The audience of a token that is a JWT. */
  audience?: readonly string[] | undefined;
  /** The response to the request with the token, and with a token that nobody issued. */
  accepted?: Reply | undefined;
  invalid?: Reply | undefined;
  /** The response that asks for more scopes, and the one after the step-up. */
  forbidden?: Reply | undefined;
  retried?: Reply | undefined;
}

/** The responses of the step that is judged. */
export function repliesOf({ exchanges }: Facts): readonly Reply[] {
  return exchanges.flatMap(({ reply }) => (reply ? [reply] : []));
}
