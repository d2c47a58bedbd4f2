import type { AuthorizationServer } from 'oauth4webapi';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { issuerMetadataUrls, wellKnown } from '../urls.ts';
import { nameOf, type GuardedHttp } from './guarded-http.ts';
import { OAuthError } from './oauth-error.ts';

/** Where tokens for a server come from, and for what they must be issued. */
export interface Authority {
  /** The metadata of the authorization server, its endpoints checked. `issuer` is the validated identifier. */
  readonly server: AuthorizationServer;
  /** The resource identifier of the server (RFC 8707). */
  readonly resource: string;
  /** Scopes that the metadata of the resource names; undefined where it names none. */
  readonly scopesSupported: readonly string[] | undefined;
  /** The server takes only tokens that are bound to a key (RFC 9449). */
  readonly dpopRequired: boolean;
  /** Where the metadata of the resource was, where the server told that. */
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
  /** Whether servers without metadata of the resource are taken for ones of 2025-03-26. */
  readonly legacy: boolean;
  readonly signal: AbortSignal;
}

/**
 * Finds the authorization server of a server (2026-07-28, basic/authorization/authorization-server-discovery).
 *
 * @throws OAuthError
 */
export async function discoverAuthority(options: DiscoveryOptions): Promise<Authority> {
  const { endpoint, http, choose, legacy, signal } = options;
  const resource = await resourceMetadata(options);
  if (!resource) {
    if (!legacy) throw new OAuthError('discovery', `${nameOf(endpoint)} has no protected-resource metadata`);
    const server = await legacyServer(endpoint, http, signal);
    return {
      server,
      resource: canonical(endpoint),
      scopesSupported: undefined,
      dpopRequired: false,
      metadataUrl: undefined,
    };
  }
  const issuers = strings(resource['authorization_servers']);
  if (!issuers?.[0])
    throw new OAuthError('discovery', `The metadata of ${nameOf(endpoint)} names no authorization server`);
  const issuer = issuers.length === 1 ? issuers[0] : await choose(issuers);
  if (!issuers.includes(issuer))
    throw new TypeError('The chosen authorization server is not among those of the server');
  return {
    server: await authorizationServer(issuer, http, signal),
    resource: resource['resource'] as string,
    scopesSupported: strings(resource['scopes_supported']),
    dpopRequired: resource['dpop_bound_access_tokens_required'] === true,
    metadataUrl: options.metadataUrl,
  };
}

/**
 * Protected Resource Metadata: at the address of the challenge, else at the well-known places (2026-07-28,
 * authorization-server-discovery: Protected Resource Metadata Discovery Requirements).
 */
async function resourceMetadata(options: DiscoveryOptions): Promise<JsonObject | undefined> {
  const { endpoint, http, metadataUrl, signal } = options;
  if (metadataUrl !== undefined) {
    const url = http.permitted(metadataUrl, 'resource_metadata');
    const metadata = await document(http, url, signal);
    if (!metadata) throw new OAuthError('discovery', `${nameOf(url)} holds no metadata`);
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
 * The metadata must be of this server (RFC 9728, section 3.3). A resource may also be what the endpoint is part of: servers
 * name their origin (2026-07-28, basic/authorization: Canonical Server URI).
 */
function ofResource(metadata: JsonObject, endpoint: URL, from: URL): JsonObject {
  const { resource } = metadata;
  const url = typeof resource === 'string' && URL.canParse(resource) ? new URL(resource) : undefined;
  const above = url && (url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`);
  const match = url?.origin === endpoint.origin && `${endpoint.pathname}/`.startsWith(above!) && url.hash === '';
  if (match && (url.search === '' || url.search === endpoint.search)) return metadata;
  throw new OAuthError(
    'resource_mismatch',
    `${nameOf(from)} holds the metadata of another resource than ${nameOf(endpoint)}`,
  );
}

/** Authorization Server Metadata Discovery, in the order of the specification. */
async function authorizationServer(
  issuer: string,
  http: GuardedHttp,
  signal: AbortSignal,
): Promise<AuthorizationServer> {
  const url = http.permitted(issuer, 'The authorization server');
  if (/[?#]/.test(issuer)) throw new OAuthError('discovery', 'An issuer has neither a query nor a fragment');
  const places = issuerMetadataUrls(url);
  for (const place of places) {
    const metadata = await document(http, new URL(place), signal);
    if (metadata) return serverMetadata(metadata, [issuer], place, http);
  }
  throw new OAuthError(
    'discovery',
    `${nameOf(url)} has no authorization-server metadata: looked at ${places.join(', ')}`,
  );
}

/** The authorization server of a server of 2025-03-26 is at its origin, with metadata or without (Server Metadata Discovery). */
async function legacyServer(endpoint: URL, http: GuardedHttp, signal: AbortSignal): Promise<AuthorizationServer> {
  const { origin } = endpoint;
  const place = `${origin}/.well-known/oauth-authorization-server`;
  const url = http.permitted(place, 'The server');
  const metadata = await document(http, url, signal, { 'mcp-protocol-version': '2025-03-26' });
  // Nobody wrote this issuer down, so both ways to write an origin are it.
  if (metadata) return serverMetadata(metadata, [origin, `${origin}/`], place, http);
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    // That revision requires it of everyone.
    code_challenge_methods_supported: ['S256'],
  };
}

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
  for (const [name, value] of Object.entries(metadata)) {
    if (name.endsWith('_supported') && name in LISTS && !strings(value)) {
      throw new OAuthError('discovery', `${place}: ${name} is not a list of strings`);
    }
  }
  return metadata as AuthorizationServer;
}

/** The lists that are read later. */
const LISTS = {
  code_challenge_methods_supported: true,
  dpop_signing_alg_values_supported: true,
  scopes_supported: true,
  token_endpoint_auth_methods_supported: true,
};

/**
 * A JSON object; undefined where there is none: servers answer what they do not know with 4xx, or with a page.
 *
 * @throws OAuthError where that cannot be said, because the server is out of order.
 */
async function document(
  http: GuardedHttp,
  url: URL,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonObject | undefined> {
  const response = await http.get(url, { accept: 'application/json', ...headers }, signal);
  if (response.status >= 500 || response.status === 429) {
    throw new OAuthError('unreachable', `${nameOf(url)}: status ${response.status}`);
  }
  if (response.status !== 200) return undefined;
  try {
    const value: unknown = JSON.parse(await response.text());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The server's address as a resource identifier: no fragment, no query, and no slash for a path. */
export function canonical(endpoint: URL): string {
  return endpoint.pathname === '/' ? endpoint.origin : endpoint.origin + endpoint.pathname;
}

function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
}
