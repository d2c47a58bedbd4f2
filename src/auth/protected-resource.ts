import type { JsonObject } from '../jsonrpc/message.ts';
import { bearerRefusal, insufficientScope } from '../transport/http/server/access/challenge.ts';
import type { AuthRefusal } from '../transport/http/server/access/authenticator.ts';
import { missingCredential } from './credential.ts';
import { checkScopes } from './scopes.ts';
import { identifierUrl, wellKnown } from './urls.ts';

const SUFFIX = 'oauth-protected-resource';

/** The metadata that clients get about the server (RFC 9728). */
export interface ResourceOptions {
  /**
   * The URL of the endpoint as clients see it: `https://mcp.example.com/mcp`. It is the resource identifier (RFC 8707,
   * section 2), for which tokens must be issued. If the URL has no path, write it without a trailing slash. If HTTP+SSE
   * is served too, give the origin: clients accept a resource only if its path is a prefix of their endpoint's path.
   */
  readonly resource: string;
  /** The scopes in the metadata. Default: `scopes`. */
  readonly scopesSupported?: readonly string[] | undefined;
  /** The server's name, for users. */
  readonly resourceName?: string | undefined;
  /** The URL of a page for developers. */
  readonly resourceDocumentation?: string | undefined;
  /** More members of the metadata document (RFC 9728, section 2), for example `resource_policy_uri`. */
  readonly metadata?: JsonObject | undefined;
}

/** A resource as its clients see it: the metadata document, and the refusals that refer to it (RFC 9728). */
export class ProtectedResource {
  readonly metadataUrl: string;
  readonly #document: JsonObject;
  readonly #paths: ReadonlySet<string>;
  readonly #scope: string;

  /** @throws TypeError for options that cannot work. */
  constructor(options: ResourceOptions, authorizationServers: readonly string[], scopes: readonly string[]) {
    const { resource, scopesSupported = scopes, resourceName, resourceDocumentation, metadata = {} } = options;
    const url = identifierUrl(resource, 'resource');
    checkScopes(scopesSupported);
    // 2026-07-28, basic/authorization: Authorization Server Location.
    if (authorizationServers.length === 0) throw new TypeError('Set at least one authorization server');
    for (const server of authorizationServers) identifierUrl(server, 'An authorization server');
    this.metadataUrl = wellKnown(url, SUFFIX);
    // Clients look for it at both paths (2026-07-28, basic/authorization: Protected Resource Metadata Discovery).
    this.#paths = new Set([new URL(this.metadataUrl).pathname, `/.well-known/${SUFFIX}`]);
    this.#scope = scopes.join(' ');
    this.#document = {
      ...metadata,
      resource,
      authorization_servers: [...authorizationServers],
      ...(scopesSupported.length > 0 && { scopes_supported: [...scopesSupported] }),
      bearer_methods_supported: ['header'],
      ...(resourceName !== undefined && { resource_name: resourceName }),
      ...(resourceDocumentation !== undefined && { resource_documentation: resourceDocumentation }),
    };
  }

  /** The metadata document, if this is its path. */
  document(path: string): JsonObject | undefined {
    return this.#paths.has(path) ? this.#document : undefined;
  }

  /**
   * For a call without a token. It gets no error code (RFC 6750, section 3.1).
   *
   * @param header the `Authorization` header, if the call has another scheme.
   */
  unauthorized(header: string | undefined): AuthRefusal {
    return bearerRefusal(401, missingCredential('An access token', header), {
      resource_metadata: this.metadataUrl,
      scope: this.#scope,
    });
  }

  /** For a token that is expired, revoked, malformed or not for this server (RFC 6750, section 3.1: invalid_token). */
  invalidToken(message: string): AuthRefusal {
    return bearerRefusal(401, message, {
      error: 'invalid_token',
      error_description: message,
      resource_metadata: this.metadataUrl,
      scope: this.#scope,
    });
  }

  /** For a malformed or repeated credential (RFC 6750, section 3.1: invalid_request). */
  invalidRequest(): AuthRefusal {
    const message = 'The Authorization header must contain exactly one Bearer token';
    return bearerRefusal(400, message, {
      error: 'invalid_request',
      error_description: message,
      resource_metadata: this.metadataUrl,
    });
  }

  /** @param scopes all scopes that the operation needs. */
  insufficientScope(scopes: readonly string[]): AuthRefusal {
    return insufficientScope(scopes, this.metadataUrl);
  }
}
