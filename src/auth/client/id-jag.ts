import type { GuardedHttpOptions } from './guarded-http.ts';
import { GuardedHttp } from './guarded-http.ts';
import type { Identity } from './client-authentication.ts';
import { OAuthError } from './oauth-error.ts';
import { TOKEN_EXCHANGE, tokenResponse } from './token-endpoint.ts';

/** What an assertion is requested for. */
export interface AssertionRequest {
  /** The authorization server that will receive the assertion. */
  readonly issuer: string;
  /** The resource identifier of the server. */
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly signal: AbortSignal;
}

/** Returns an assertion, a signed JWT, that the authorization server accepts as a grant (RFC 7523, section 2.1). */
export type AssertionSource = (request: AssertionRequest) => Promise<string>;

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

export interface IdJagOptions extends Identity, Pick<GuardedHttpOptions, 'fetch'> {
  /** The identity provider's token endpoint. */
  readonly tokenEndpoint: string;
  /** The identity provider. Default: the origin of the token endpoint. */
  readonly issuer?: string | undefined;
  /** The user's ID token, or another assertion of the user's identity. A function is called for each exchange. */
  readonly subjectToken: string | (() => string | Promise<string>);
  /** Default: the type of an ID token. */
  readonly subjectTokenType?: string | undefined;
}

/**
 * Exchanges the user's identity token for an Identity Assertion JWT Authorization Grant, at the identity provider of the
 * user's organization (the extension `io.modelcontextprotocol/enterprise-managed-authorization`, section 4; RFC 8693).
 *
 * @throws TypeError for options that cannot work. The returned function throws OAuthError.
 */
export function idJag(options: IdJagOptions): AssertionSource {
  const { tokenEndpoint, subjectToken, fetch } = options;
  const { subjectTokenType = 'urn:ietf:params:oauth:token-type:id_token' } = options;
  const endpoint = new URL(tokenEndpoint);
  const { issuer = endpoint.origin } = options;
  // The URL comes from the organization's own configuration, so private addresses are allowed.
  const http = new GuardedHttp({ server: endpoint, allowPrivateNetwork: true, fetch });
  http.permitted(tokenEndpoint, 'tokenEndpoint');
  return async ({ issuer: audience, resource, scopes, signal }) => {
    const subject = typeof subjectToken === 'string' ? subjectToken : await subjectToken();
    const server = { issuer, token_endpoint: tokenEndpoint };
    const { access_token: assertion, issued_token_type: type } = await tokenResponse(
      { server, client: options, http, dpop: undefined, signal },
      TOKEN_EXCHANGE,
      {
        requested_token_type: ID_JAG,
        audience,
        resource,
        subject_token: subject,
        subject_token_type: subjectTokenType,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      },
    );
    if (type !== ID_JAG) throw new OAuthError('token', 'The identity provider did not issue an ID-JAG');
    return assertion;
  };
}
