import type { CryptoKey } from 'jose';
import type { AuthorizationServer, ClientAuth } from 'oauth4webapi';
import { OAuthError } from './oauth-error.ts';

/** How a client authenticates at a token endpoint (OAuth 2.1, section 2.4; RFC 7523, section 2.2). */
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none' | 'private_key_jwt';

/** A private key that signs for a client. */
export interface ClientKey {
  /** PKCS #8 in PEM, a JWK, or a key of Web Crypto. */
  readonly key: string | Readonly<Record<string, unknown>> | CryptoKey;
  /** Default: the algorithm of the JWK, else `ES256`. A Web Crypto key has its own algorithm. */
  readonly algorithm?: string | undefined;
  /** The key id, if the authorization server knows several keys. */
  readonly keyId?: string | undefined;
}

/** A client as an authorization server knows it. */
export interface Identity {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** `token_endpoint_auth_method`. Default: the best that the authorization server offers. */
  readonly authMethod?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
}

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

/**
 * Chooses the authentication method: the configured or registered one, else the best one that both sides support. A
 * server without a list supports `client_secret_basic` (RFC 8414, section 2). A client without a secret has only one
 * choice.
 *
 * @throws OAuthError `registration`
 */
export function authMethodOf(client: Identity, server: AuthorizationServer): ClientAuthMethod {
  const { authMethod, clientSecret, privateKey } = client;
  const offered = server.token_endpoint_auth_methods_supported;
  if (authMethod === 'none') return authMethod;
  if (authMethod === 'private_key_jwt' && privateKey) return authMethod;
  if (clientSecret !== undefined) {
    const agreed = SECRET_METHODS.find((method) => method === authMethod);
    if (agreed) return agreed;
  }
  if (authMethod !== undefined) {
    throw new OAuthError('registration', `The client cannot use ${authMethod}, which its registration asks for`);
  }
  if (privateKey && (clientSecret === undefined || offered?.includes('private_key_jwt'))) return 'private_key_jwt';
  if (clientSecret === undefined) return 'none';
  return (
    SECRET_METHODS.find((method) => offered?.includes(method)) ??
    (offered?.includes('none') ? 'none' : 'client_secret_basic')
  );
}

/** @throws OAuthError `registration` if the key cannot be read. */
export async function clientAuthentication(client: Identity, server: AuthorizationServer): Promise<ClientAuth> {
  const oauth = await import('oauth4webapi');
  const method = authMethodOf(client, server);
  if (method === 'client_secret_basic') return basic(client.clientSecret!);
  if (method === 'client_secret_post') return oauth.ClientSecretPost(client.clientSecret!);
  if (method === 'none') return oauth.None();
  const { keyId } = client.privateKey!;
  const key = await importKey(client.privateKey!);
  return oauth.PrivateKeyJwt(keyId === undefined ? key : { key, kid: keyId });
}

function basic(secret: string): ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    headers.set('authorization', `Basic ${basicCredentials(id, secret)}`);
  };
}

/**
 * RFC 6749, section 2.3.1: both parts are form-encoded. Only the characters that require it are encoded. `oauth4webapi`
 * also encodes dashes, and many servers compare without decoding.
 */
function basicCredentials(id: string, secret: string): string {
  const encoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
  return btoa(`${encoded(id)}:${encoded(secret)}`);
}

/** What no error may show: the secret of a client, also in the form of `client_secret_basic`, and its private key. */
export function secretsOfClient({ clientId, clientSecret, privateKey }: Identity): string[] {
  const key = privateKey?.key;
  return [
    ...(clientSecret === undefined ? [] : [clientSecret, basicCredentials(clientId, clientSecret)]),
    ...(typeof key === 'string' ? [key] : []),
  ];
}

async function importKey({ key, algorithm }: ClientKey): Promise<CryptoKey> {
  const { importJWK, importPKCS8 } = await import('jose');
  try {
    if (typeof key === 'string') return await importPKCS8(key, algorithm ?? 'ES256');
    if (!('kty' in key)) return key as CryptoKey;
    const imported = await importJWK(key, algorithm ?? (key['alg'] as string | undefined) ?? 'ES256');
    if ('type' in imported) return imported;
  } catch {
    // The library's error may contain the key, so it is dropped.
  }
  throw new OAuthError('registration', `The client's private key cannot be read as one for ${algorithm ?? 'ES256'}`);
}
