import { bearerAuth } from 'everwire/auth';

const { INTROSPECTION = 'http://localhost:9000/introspect', CLIENT_SECRET = '' } = process.env;
const RESOURCE = 'http://localhost:8000/mcp';

/** Checks tokens with the introspection endpoint of the authorization server (RFC 7662). */
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
    // Undefined means status 401. Always reject a token that was issued for another server.
    if (!active || aud !== RESOURCE) return undefined;
    return { principal: sub, scopes: scope.split(' '), expiresAt: exp };
  },
});
