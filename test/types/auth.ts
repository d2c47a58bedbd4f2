import {
  apiKeyAuth,
  authorizedFetch,
  bearerAuth,
  FileTokenStore,
  idJag,
  InvalidToken,
  jwtVerifier,
  loopbackRedirect,
  MemoryTokenStore,
  oauth,
  OAuthError,
  openBrowser,
  type Authenticator,
  type Authorizer,
  type AuthInfo,
  type TokenStore,
  type TokenVerifier,
} from 'everwire/auth';

const verify: TokenVerifier = async (token): Promise<AuthInfo | undefined> => {
  if (token === '') throw new InvalidToken('empty');
  return { principal: 'ada', scopes: ['read'], expiresAt: undefined };
};
const resource = 'https://mcp.example.com/mcp';

export const authenticators: readonly Authenticator[] = [
  bearerAuth({ resource, issuer: 'https://issuer.example.com', scopes: undefined }),
  bearerAuth({ resource, verify, authorizationServers: ['https://issuer.example.com'] }),
  apiKeyAuth({ keys: { 'a-long-random-key': { principal: 'ada', scopes: ['read'] } } }),
];
export const verifier: TokenVerifier = jwtVerifier({ issuer: 'https://issuer.example.com', audience: resource });

const stores: readonly TokenStore[] = [new MemoryTokenStore(), new FileTokenStore('/tmp/tokens')];
const browser = loopbackRedirect({ open: async (url) => void (await openBrowser(url)) });
const clientOf = { clientId: 'app', clientSecret: 'secret' };

export const authorizers: readonly Authorizer[] = [
  oauth({ server: resource, redirect: browser, store: stores[0] }),
  oauth({ server: resource, clientCredentials: true, client: clientOf }),
  oauth({
    client: clientOf,
    assertion: idJag({ tokenEndpoint: 'https://idp.example.com/token', clientId: 'app', subjectToken: () => 'token' }),
  }),
];
export const fetch = authorizers.map((authorizer) => authorizedFetch(authorizer));
export const codeOf = (error: unknown): string => (error instanceof OAuthError ? error.code : 'unknown');
