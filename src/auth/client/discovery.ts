import { isStrings } from '../../jsonrpc/message.ts';
import type { AuthorizationServer } from 'oauth4webapi';
import { peerUrl } from '../../base/peer-url.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { issuerMetadataUrls, wellKnown } from '../urls.ts';
import { shown } from '../../transport/http/client/errors.ts';
import { jsonOf, type GuardedHttp } from './guarded-http.ts';
import { HIDES_RESPONSES } from './guarded-lookup.ts';
import { OAuthError } from './oauth-error.ts';

/** The authorization server that issues tokens for a server, and the resource to request them for. */
export interface Authority {
  /** The metadata of the authorization server. Its endpoints are checked, and `issuer` is the validated identifier. */
  readonly server: AuthorizationServer;
  /** The resource identifier of the server (RFC 8707). */
  readonly resource: string;
  /** The scopes in the resource metadata; undefined if it has none. */
  readonly scopesSupported: readonly string[] | undefined;
  /** The server accepts only tokens that are bound to a key (RFC 9449). */
  readonly dpopRequired: boolean;
  /** The URL of the resource metadata, if the server named it. */
  readonly metadataUrl: string | undefined;
}

export interface DiscoveryOptions {
  /** The server's endpoint. */
  readonly endpoint: URL;
  readonly http: GuardedHttp;
  /** The `resource_metadata` of the challenge. */
  readonly metadataUrl: string | undefined;
  /** Chooses among several authorization servers. */
  readonly choose: (issuers: readonly string[]) => string | Promise<string>;
  /** Whether a server without resource metadata is treated as a 2025-03-26 server. */
  readonly legacy: boolean;
  readonly signal: AbortSignal;
}

/**
 * Finds the authorization server of an MCP server (2026-07-28, basic/authorization/authorization-server-discovery).
 *
 * @throws OAuthError
 */
export async function discoverAuthority(options: DiscoveryOptions): Promise<Authority> {
  const { endpoint, http, choose, legacy, signal } = options;
  const resource = await resourceMetadata(options);
  if (!resource) {
    if (!legacy) throw new OAuthError('discovery', `${shown(endpoint)} has no protected-resource metadata`);
    const server = await legacyServer(endpoint, http, signal);
    return {
      server,
      resource: canonical(endpoint),
      scopesSupported: undefined,
      dpopRequired: false,
      metadataUrl: undefined,
    };
  }
  const issuers = issuersIn(resource, endpoint);
  const issuer = issuers.length === 1 ? issuers[0]! : await choose(issuers);
  if (!issuers.includes(issuer))
    throw new TypeError('The chosen authorization server is not one that the metadata of the server names');
  return {
    server: await authorizationServer(issuer, http, signal).catch((error: unknown) => {
      throw unreachableFor(endpoint, error);
    }),
    resource: resource['resource'] as string,
    scopesSupported: strings(resource['scopes_supported']),
    dpopRequired: resource['dpop_bound_access_tokens_required'] === true,
    metadataUrl: options.metadataUrl,
  };
}

/** The authorization servers that the metadata of a resource names, at least one. @throws OAuthError `discovery` */
export function issuersIn(resource: JsonObject, endpoint: URL): readonly string[] {
  const issuers = strings(resource['authorization_servers']);
  if (issuers?.[0]) return issuers;
  throw new OAuthError('discovery', `The metadata of ${shown(endpoint)} names no authorization server`);
}

/** The user asked for the MCP server, so the error says first how the authorization server comes into it. */
function unreachableFor(endpoint: URL, error: unknown): unknown {
  if (!(error instanceof OAuthError) || error.code !== 'unreachable') return error;
  const what = `${shown(endpoint)} requires a login, but its authorization server cannot be reached`;
  return new OAuthError('unreachable', `${what}: ${error.message}`, { cause: error });
}

/**
 * Fetches the Protected Resource Metadata from the URL in the challenge, else from the well-known URLs (2026-07-28,
 * authorization-server-discovery: Protected Resource Metadata Discovery Requirements). Undefined if there is none.
 *
 * @throws OAuthError
 */
export async function resourceMetadata(
  options: Pick<DiscoveryOptions, 'endpoint' | 'http' | 'metadataUrl' | 'signal'>,
): Promise<JsonObject | undefined> {
  const { endpoint, http, metadataUrl, signal } = options;
  if (metadataUrl !== undefined) {
    const url = http.permitted(metadataUrl, 'resource_metadata');
    const metadata = await document(http, url, signal);
    if (!metadata) throw new OAuthError('discovery', `${shown(url)} has no metadata`);
    return ofResource(metadata, endpoint, url);
  }
  const suffix = 'oauth-protected-resource';
  const places = new Set([wellKnown(endpoint, suffix), `${endpoint.origin}/.well-known/${suffix}`]);
  for (const place of places) {
    const url = http.permitted(place, 'The server');
    const metadata = await document(http, url, signal);
    if (metadata) return ofResource(metadata, endpoint, url);
  }
  return undefined;
}

/**
 * Checks that the metadata belongs to this server (RFC 9728, section 3.3). The resource may also be a parent of the
 * endpoint, because servers may name their origin (2026-07-28, basic/authorization: Canonical Server URI).
 */
function ofResource(metadata: JsonObject, endpoint: URL, from: URL): JsonObject {
  const { resource } = metadata;
  const url = typeof resource === 'string' ? peerUrl(resource) : undefined;
  const above = url && (url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`);
  const match = url?.origin === endpoint.origin && `${endpoint.pathname}/`.startsWith(above!) && url.hash === '';
  if (match && (url.search === '' || url.search === endpoint.search)) return metadata;
  throw new OAuthError(
    'resource_mismatch',
    `${shown(from)} holds the metadata of another resource than ${shown(endpoint)}`,
  );
}

/** Authorization Server Metadata Discovery, in the order of the specification. */
export async function authorizationServer(
  issuer: string,
  http: GuardedHttp,
  signal: AbortSignal,
): Promise<AuthorizationServer> {
  const url = http.permitted(issuer, 'The authorization server');
  if (/[?#]/.test(issuer)) throw new OAuthError('discovery', 'An issuer URL must not have a query or a fragment');
  const places = issuerMetadataUrls(url);
  for (const place of places) {
    const metadata = await document(http, new URL(place), signal);
    if (metadata) return serverMetadata(metadata, [issuer], place, http);
  }
  throw new OAuthError(
    'discovery',
    `${shown(url)} has no authorization-server metadata: looked at ${places.join(', ')}`,
  );
}

/**
 * A 2025-03-26 server has its authorization server at its own origin. Metadata is optional (Server Metadata Discovery).
 */
export async function legacyServer(
  endpoint: URL,
  http: GuardedHttp,
  signal: AbortSignal,
): Promise<AuthorizationServer> {
  const { origin } = endpoint;
  const place = `${origin}/.well-known/oauth-authorization-server`;
  const url = http.permitted(place, 'The server');
  const metadata = await document(http, url, signal, { 'mcp-protocol-version': '2025-03-26' });
  // We derived this issuer from the endpoint, so accept the origin with and without a trailing slash.
  if (metadata) return serverMetadata(metadata, [origin, `${origin}/`], place, http);
  return defaultServer(origin);
}

/** The endpoints of an authorization server without metadata (2025-03-26, Fallbacks for Servers without Metadata Discovery). */
export function defaultServer(origin: string): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    // 2025-03-26 requires PKCE of every client.
    code_challenge_methods_supported: ['S256'],
  };
}

/** The list members that are used later. */
const LISTS = [
  'code_challenge_methods_supported',
  'dpop_signing_alg_values_supported',
  'scopes_supported',
  'token_endpoint_auth_methods_supported',
] as const;
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const;

function serverMetadata(
  metadata: JsonObject,
  issuers: readonly string[],
  place: string,
  http: GuardedHttp,
): AuthorizationServer {
  // RFC 8414, section 3.3, and OpenID Connect Discovery, section 4.3.
  if (!issuers.includes(metadata['issuer'])) {
    throw new OAuthError('issuer_mismatch', `${place} holds the metadata of another issuer than ${issuers[0]}`);
  }
  for (const name of ENDPOINTS) if (metadata[name] !== undefined) http.permitted(metadata[name], name);
  for (const name of LISTS) {
    if (metadata[name] !== undefined && !strings(metadata[name])) {
      throw new OAuthError('discovery', `${place}: ${name} is not a list of strings`);
    }
  }
  return metadata as AuthorizationServer;
}

/**
 * Fetches a JSON object. Undefined if there is none: servers answer unknown paths with 4xx or with an HTML page.
 *
 * @throws OAuthError if the server fails, so that the existence of the document is unknown.
 */
async function document(
  http: GuardedHttp,
  url: URL,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonObject | undefined> {
  const response = await http.get(url, { accept: 'application/json', ...headers }, signal).catch((error: unknown) => {
    if (HIDES_RESPONSES && error instanceof OAuthError && error.code === 'unreachable') return undefined;
    throw error;
  });
  if (!response) return undefined;
  if (response.status >= 500 || response.status === 429) {
    throw new OAuthError('unreachable', `${shown(url)}: status ${response.status}`);
  }
  return response.status === 200 ? jsonOf(response) : undefined;
}

/** The server's address as a resource identifier: no fragment, no query, and no slash for a path. */
export function canonical(endpoint: URL): string {
  return endpoint.pathname === '/' ? endpoint.origin : endpoint.origin + endpoint.pathname;
}

function strings(value: unknown): readonly string[] | undefined {
  return isStrings(value) ? value : undefined;
}
