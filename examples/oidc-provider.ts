import { errors, Provider } from 'oidc-provider';

/** An authorization server for one MCP server, whose URL is `resource`. */
export function createProvider(issuer: string, resource: string): Provider {
  return new Provider(issuer, {
    // Many clients register with the scopes that the server names.
    scopes: ['openid', 'offline_access', 'notes:read'],
    // Clients register themselves, and revoke their tokens when the user logs out.
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // Access tokens are JWTs for this server only.
        getResourceServerInfo(_, wanted) {
          if (wanted !== resource) throw new errors.InvalidTarget();
          return { scope: 'notes:read', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 600 };
        },
      },
    },
  });
}
