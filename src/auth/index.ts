/**
 * Says who may call a server over HTTP: access tokens of an authorization server, or API keys.
 *
 * @module
 */
export { apiKeyAuth, type ApiKeyOptions } from './api-key.ts';
export { bearerAuth, type BearerOptions, type IssuedBy, type VerifiedBy } from './bearer.ts';
export { jwtVerifier, type JwtIssuer, type JwtVerifierOptions } from './jwt.ts';
export type { ResourceOptions } from './protected-resource.ts';
export type { ScopeOptions } from './scopes.ts';
export { InvalidToken, type TokenVerifier } from './token-verifier.ts';
export type { AuthInfo } from '../protocol/types.ts';
export type { HttpCall } from '../transport/http/call.ts';
export type { Gate, Refusal } from '../transport/http/gate.ts';
