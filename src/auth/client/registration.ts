import type { AuthorizationServer } from 'oauth4webapi';
import { peerUrl } from '../../base/peer-url.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { isLoopback } from '../../transport/http/server/access/guards.ts';
import { authMethodOf, type ClientKey, type Identity } from './client-authentication.ts';
import { jsonOf, type GuardedHttp } from './guarded-http.ts';
import { OAuthError, refused } from './oauth-error.ts';
import type { StoredClient } from './token-store.ts';

/** A client that is already registered at an authorization server. */
export interface PreRegistered extends Identity {
  /**
   * The authorization server where the client is registered, compared exactly. If a server names a different one, the
   * login fails and nothing is sent there (2026-07-28, client-registration: Authorization Server Binding). Default: the
   * first one that a server names, see `TokenStore`.
   */
  readonly issuer?: string | undefined;
}

/** How a client gets its id. */
export interface RegistrationOptions {
  /** A registered client. First choice. */
  readonly client?: PreRegistered | undefined;
  /**
   * The URL of the client's metadata document, which is also its client id. Must be `https` with a path. Second choice,
   * used if the authorization server supports it.
   */
  readonly clientMetadataUrl?: string | undefined;
  /**
   * Authenticates a client with a metadata document that contains the public key, if the authorization server supports
   * it.
   */
  readonly clientKey?: ClientKey | undefined;
  /**
   * Metadata for dynamic registration (RFC 7591, section 2), added to the values that follow from the other options.
   * Third choice, used if the authorization server supports it. Default `{ client_name: 'MCP client' }`. Use false to
   * never register.
   */
  readonly clientMetadata?: JsonObject | false | undefined;
}

/** @throws TypeError for options that cannot work. */
export function checkRegistration({ clientMetadataUrl: address }: RegistrationOptions): void {
  if (address === undefined) return;
  const url = peerUrl(address);
  // 2026-07-28, client-registration: Implementation Requirements.
  if (url?.protocol !== 'https:' || url.pathname === '/' || url.hash !== '') {
    throw new TypeError('clientMetadataUrl must be an https URL with a path and without a fragment');
  }
}

/** A client id that needs no registration, in the order of the specification; undefined if there is none. */
export function knownClient(options: RegistrationOptions, server: AuthorizationServer): Identity | undefined {
  const { client, clientKey, clientMetadataUrl } = options;
  if (client) {
    if (client.issuer === undefined || client.issuer === server.issuer) return client;
    throw new OAuthError(
      'registration',
      `The client is registered with ${client.issuer}, but the server requires tokens from ${server.issuer}`,
    );
  }
  if (clientMetadataUrl === undefined || server['client_id_metadata_document_supported'] !== true) return undefined;
  const signs = clientKey && server.token_endpoint_auth_methods_supported?.includes('private_key_jwt');
  return signs
    ? { clientId: clientMetadataUrl, privateKey: clientKey, authMethod: 'private_key_jwt' }
    : { clientId: clientMetadataUrl, authMethod: 'none' };
}

/** Whether a stored registration can be used again. */
export function canReuse(client: StoredClient, redirectUri: string | undefined): boolean {
  if (client.secretExpiresAt !== undefined && client.secretExpiresAt <= Date.now()) return false;
  return redirectUri === undefined || client.redirectUris.includes(redirectUri);
}

/** The longest client id and secret, in characters. Longer ones do not fit into a request. */
const MAX_CLIENT = 16_384;
/** What a user can do if an authorization server does not register clients. */
const REGISTER = 'Register one there, and set its id (client.clientId, or --client-id)';

/**
 * Registers a client (RFC 7591; 2026-07-28, client-registration: Dynamic Client Registration).
 *
 * @throws OAuthError `registration` with the authorization server's error, or with a suggestion of what to do instead.
 */
export async function register(
  { clientMetadata = {} }: RegistrationOptions,
  server: AuthorizationServer,
  redirectUri: string,
  http: GuardedHttp,
  signal: AbortSignal,
): Promise<StoredClient> {
  const endpoint = server.registration_endpoint;
  if (clientMetadata === false || endpoint === undefined) {
    throw new OAuthError('registration', `${server.issuer} does not register clients by itself. ${REGISTER}`);
  }
  const metadata: JsonObject = {
    client_name: 'MCP client',
    ...clientMetadata,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: clientMetadata['token_endpoint_auth_method'] ?? authMethodFor(server),
    application_type: clientMetadata['application_type'] ?? applicationType(redirectUri),
  };
  const response = await http.fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(metadata),
    signal,
  });
  const body = await jsonOf(response);
  // Some servers send 200 although RFC 7591, section 3.2.1, requires 201.
  if ((response.status === 200 || response.status === 201) && typeof body?.['client_id'] === 'string') {
    const registered = clientFrom(body, redirectUri);
    const { clientId, clientSecret = '' } = registered;
    if (Math.max(clientId.length, clientSecret.length) > MAX_CLIENT)
      throw new OAuthError(
        'registration',
        `${server.issuer} sent a client id or secret of more than ${MAX_CLIENT} characters`,
      );
    // Checked before the client is stored: one that cannot authenticate must not be.
    authMethodOf(registered, server);
    return registered;
  }
  const error = typeof body?.['error'] === 'string' ? body['error'] : `status ${response.status}`;
  const reason = { error, description: body?.['error_description'] };
  const what = `${server.issuer} does not register clients by itself with ${redirectUri}`;
  const { message, error: code } = refused('registration', what, reason, []);
  throw new OAuthError('registration', `${message}. ${REGISTER}`, { error: code! });
}

/** A client on a user's machine cannot keep a secret, so it prefers `none`. */
function authMethodFor({ token_endpoint_auth_methods_supported: offered }: AuthorizationServer): string {
  const known = ['none', 'client_secret_basic', 'client_secret_post'];
  return offered === undefined ? 'none' : (known.find((method) => offered.includes(method)) ?? 'none');
}

/** 2026-07-28, client-registration: Application Type and Redirect URI Constraints. */
function applicationType(redirectUri: string): 'native' | 'web' {
  const url = new URL(redirectUri);
  return url.protocol === 'https:' && !isLoopback(url.hostname) ? 'web' : 'native';
}

function clientFrom(body: JsonObject, redirectUri: string): StoredClient {
  const {
    client_id: id,
    client_secret: secret,
    client_secret_expires_at: ends,
    token_endpoint_auth_method: method,
  } = body;
  return {
    clientId: id,
    redirectUris: [redirectUri],
    ...(typeof secret === 'string' && secret !== '' && { clientSecret: secret }),
    ...(typeof method === 'string' && { authMethod: method }),
    ...(typeof ends === 'number' && ends > 0 && { secretExpiresAt: ends * 1000 }),
  };
}
