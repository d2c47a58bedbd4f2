import type { HttpHeaders } from '../call.ts';
import type { AuthRefusal } from './authenticator.ts';

/**
 * A `WWW-Authenticate` header of the Bearer scheme (RFC 6750, section 3), with its parameters in the given order.
 *
 * @param parameters undefined and empty ones are left out. At least one must remain.
 */
export function bearerChallenge(parameters: Readonly<Record<string, string | undefined>>): HttpHeaders {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  return { 'www-authenticate': `Bearer ${given.map(([name, value]) => `${name}="${quotable(value!)}"`).join(', ')}` };
}

/**
 * The refusal of a valid credential that lacks scopes (RFC 6750, section 3.1; 2026-07-28, basic/authorization: Runtime
 * Insufficient Scope Errors).
 *
 * @param scopes all scopes that the operation needs, including those that the caller has.
 * @param resourceMetadata the URL of the protected-resource metadata, if any.
 */
export function insufficientScope(scopes: readonly string[], resourceMetadata?: string): AuthRefusal {
  const message = `This needs more than the credential allows: ${scopes.join(' ')}`;
  const scope = scopes.join(' ');
  const headers = bearerChallenge({ error: 'insufficient_scope', scope, resource_metadata: resourceMetadata });
  return { status: 403, message, headers };
}

/** Keeps the characters that a parameter may contain: printable ASCII without the quotation mark and the backslash. */
function quotable(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');
}
