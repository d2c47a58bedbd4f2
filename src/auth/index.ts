/**
 * Authenticates callers of an HTTP server, by access tokens of an authorization server or by API keys. Also gets access
 * tokens for clients.
 *
 * @module
 */
export { apiKeyAuth, type ApiKeyAuthOptions } from './api-key.ts';
export { bearerAuth, type BearerAuthOptions, type IssuedBy, type VerifiedBy } from './bearer.ts';
export { jwtVerifier, type JwtIssuer, type JwtVerifierOptions } from './jwt.ts';
export type { ResourceOptions } from './protected-resource.ts';
export type { ScopeOptions } from './scopes.ts';
export { InvalidToken, type TokenVerifier } from './token-verifier.ts';
export { authorizedFetch } from './client/authorized-fetch.ts';
export type { AssertionRequest, AssertionSource, IdJagOptions } from './client/id-jag.ts';
export { idJag } from './client/id-jag.ts';
export type { ClientAuthMethod, ClientKey, Identity } from './client/client-authentication.ts';
export { FileTokenStore } from './client/file-token-store.ts';
export { logOut, type LoggedOut, type LogoutOptions } from './client/log-out.ts';
export { loopbackRedirect, type LoopbackOptions } from './client/loopback-redirect.ts';
export { oauth } from './client/oauth.ts';
export { OAuthError, type OAuthErrorCode } from './client/oauth-error.ts';
export { openBrowser } from './client/open-browser.ts';
export type { GrantOptions, OAuthOptions } from './client/options.ts';
export type { PreRegistered, RegistrationOptions } from './client/registration.ts';
export type { LoginWindow, WebStorage } from './client/page.ts';
export { pageRedirect } from './client/page-redirect.ts';
export { finishLogin, popupRedirect, type PopupOptions } from './client/popup-redirect.ts';
export { WebTokenStore } from './client/web-token-store.ts';
export {
  MemoryTokenStore,
  type CredentialKey,
  type StoredClient,
  type StoredCredentials,
  type StoredTokens,
  type TokenStore,
} from './client/token-store.ts';
export {
  customRedirect,
  type AuthorizationRequest,
  type LoginAttempt,
  type RedirectHandler,
  type ReturnedLogin,
} from './client/redirect.ts';
export type {
  Authorizer,
  OutgoingRequest,
  RefusedRequest,
  RefusedResponse,
} from '../transport/http/client/authorizer.ts';
export type { AuthInfo } from '../protocol/types.ts';
export type { HttpCall } from '../transport/http/server/call.ts';
export type { Authenticator, AuthRefusal } from '../transport/http/server/access/authenticator.ts';
