import type { AuthRefusal } from './authenticator.ts';

/**
 * A refusal with a `WWW-Authenticate` header of the Bearer scheme (RFC 6750, section 3).
 *
 * @param parameters of the header, in order. Undefined and empty ones are left out. At least one must remain.
 */
export function bearerRefusal(
  status: AuthRefusal['status'],
  message: string,
  parameters: Readonly<Record<string, string | undefined>>,
): AuthRefusal {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const challenge = given.map(([name, value]) => `${name}="${quotable(value!)}"`).join(', ');
  return { status, message, headers: { 'www-authenticate': `Bearer ${challenge}` } };
}

/**
 * The refusal of a valid credential that lacks scopes (RFC 6750, section 3.1; 2026-07-28, basic/authorization: Runtime
 * Insufficient Scope Errors).
 *
 * @param scopes all scopes that the operation needs, including those that the caller has.
 * @param resourceMetadata the URL of the protected-resource metadata, if any.
 */
export function insufficientScope(scopes: readonly string[], resourceMetadata?: string): AuthRefusal {
  const message = `The credential does not have all the scopes that this needs: ${scopes.join(' ')}`;
  const scope = scopes.join(' ');
  const parameters = { error: 'insufficient_scope', scope, resource_metadata: resourceMetadata };
  return { ...bearerRefusal(403, message, parameters), scopes };
}

/** Keeps the characters that a parameter may contain: printable ASCII without the quotation mark and the backslash. */
function quotable(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');
}
