import type { HttpHeaders } from './call.ts';
import type { AuthRefusal } from './authenticator.ts';

/**
 * A `WWW-Authenticate` header of the Bearer scheme (RFC 6750, section 3), with its parameters in the order given.
 *
 * @param parameters those that are undefined or empty are left out; at least one must remain.
 */
export function bearerChallenge(parameters: Readonly<Record<string, string | undefined>>): HttpHeaders {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  return { 'www-authenticate': `Bearer ${given.map(([name, value]) => `${name}="${quotable(value!)}"`).join(', ')}` };
}

/**
 * The refusal of a caller whose credential is valid and does not suffice (RFC 6750, section 3.1; 2026-07-28,
 * basic/authorization: Runtime Insufficient Scope Errors).
 *
 * @param scopes all that the operation needs, whatever of it the caller has.
 * @param resourceMetadata address of the protected-resource metadata, where there is any.
 */
export function insufficientScope(scopes: readonly string[], resourceMetadata?: string): AuthRefusal {
  const message = `This needs more than the credential allows: ${scopes.join(' ')}`;
  const scope = scopes.join(' ');
  const headers = bearerChallenge({ error: 'insufficient_scope', scope, resource_metadata: resourceMetadata });
  return { status: 403, message, headers };
}

/** What may stand in a parameter: printable ASCII without the quotation mark and the backslash. */
function quotable(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');
}
