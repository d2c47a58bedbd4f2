import { bearerAuth } from 'everwire/auth';

const { INTROSPECTION = 'http://localhost:9000/introspect', CLIENT_SECRET = '' } = process.env;
const RESOURCE = 'http://localhost:8000/mcp';

/** Asks the authorization server whose a token is (RFC 7662). */
export const auth = bearerAuth({
  resource: RESOURCE,
  authorizationServers: ['http://localhost:9000'],
  async verify(token) {
    const response = await fetch(INTROSPECTION, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`notes:${CLIENT_SECRET}`)}` },
      body: new URLSearchParams({ token }),
      signal: AbortSignal.timeout(5000),
    });
    if (!response.ok) throw new Error(`Introspection answered ${response.status}`);
    const { active, sub, aud, scope = '', exp } = (await response.json()) as Record<string, any>;
    // Undefined is status 401. A token for somebody else must not be taken.
    if (!active || aud !== RESOURCE) return undefined;
    return { principal: sub, scopes: scope.split(' '), expiresAt: exp };
  },
});
