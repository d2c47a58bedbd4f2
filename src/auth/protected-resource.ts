import type { JsonObject } from '../jsonrpc/message.ts';
import { bearerChallenge, insufficientScope } from '../transport/http/challenge.ts';
import type { AuthRefusal } from '../transport/http/authenticator.ts';
import { checkScopes } from './scopes.ts';
import { identifierUrl, wellKnown } from './urls.ts';

const SUFFIX = 'oauth-protected-resource';

/** What clients are told of the server (RFC 9728). */
export interface ResourceOptions {
  /**
   * The address under which clients reach the endpoint, as they see it: `https://mcp.example.com/mcp`. It is the resource
   * identifier (RFC 8707, section 2): tokens must be issued for it. Without a path, best without the slash at its end.
   * Where HTTP+SSE is served too, the origin: clients take no resource for theirs whose path is not above their own.
   */
  readonly resource: string;
  /** Scopes that the metadata names. Default: `scopes`. */
  readonly scopesSupported?: readonly string[];
  /** What people call the server. */
  readonly resourceName?: string;
  /** Address of a page for developers. */
  readonly resourceDocumentation?: string;
  /** Further members of the metadata document (RFC 9728, section 2): `resource_policy_uri`, say. */
  readonly metadata?: JsonObject;
}

/** A resource as its clients see it: the metadata document, and the refusals that lead there (RFC 9728). */
export class ProtectedResource {
  readonly metadataUrl: string;
  readonly #document: JsonObject;
  readonly #paths: ReadonlySet<string>;
  readonly #scope: string;

  /** @throws TypeError where the options do not make a resource. */
  constructor(options: ResourceOptions, authorizationServers: readonly string[], scopes: readonly string[]) {
    const { resource, scopesSupported = scopes, resourceName, resourceDocumentation, metadata = {} } = options;
    const url = identifierUrl(resource, 'resource');
    checkScopes(scopesSupported);
    // 2026-07-28, basic/authorization: Authorization Server Location.
    if (authorizationServers.length === 0) throw new TypeError('Name at least one authorization server');
    for (const server of authorizationServers) identifierUrl(server, 'An authorization server');
    this.metadataUrl = wellKnown(url, SUFFIX);
    // Both places where clients look for it (2026-07-28, basic/authorization: Protected Resource Metadata Discovery).
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

  /** The metadata, where it is at this path. */
  document(path: string): JsonObject | undefined {
    return this.#paths.has(path) ? this.#document : undefined;
  }

  /** For a call without a token, which is told nothing of errors (RFC 6750, section 3.1). */
  unauthorized(): AuthRefusal {
    const headers = bearerChallenge({ resource_metadata: this.metadataUrl, scope: this.#scope });
    return { status: 401, message: 'An access token is needed', headers };
  }

  /** For a token that is expired, revoked, malformed, or of no use here (RFC 6750, section 3.1: invalid_token). */
  invalidToken(message: string): AuthRefusal {
    const headers = bearerChallenge({
      error: 'invalid_token',
      error_description: message,
      resource_metadata: this.metadataUrl,
      scope: this.#scope,
    });
    return { status: 401, message, headers };
  }

  /** For a call whose credential cannot be read, or is not one (RFC 6750, section 3.1: invalid_request). */
  invalidRequest(): AuthRefusal {
    const message = 'The Authorization header must hold one Bearer token';
    const headers = bearerChallenge({
      error: 'invalid_request',
      error_description: message,
      resource_metadata: this.metadataUrl,
    });
    return { status: 400, message, headers };
  }

  /** @param scopes all that the operation needs. */
  insufficientScope(scopes: readonly string[]): AuthRefusal {
    return insufficientScope(scopes, this.metadataUrl);
  }
}
