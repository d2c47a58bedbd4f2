import type { CryptoKey, JWK } from 'jose';
import type { DPoPHandle } from 'oauth4webapi';

/** Maximum number of origins with a stored nonce. */
const MAX_NONCES = 20;

/** A key that tokens are bound to. Creates the proofs of possession (RFC 9449). */
export class DpopKey {
  /** For the token endpoint. */
  readonly handle: DPoPHandle;
  readonly #privateKey: CryptoKey;
  readonly #privateJwk: JWK;
  readonly #publicJwk: JWK;
  readonly #nonces = new Map<string, string>();

  private constructor(handle: DPoPHandle, privateKey: CryptoKey, privateJwk: JWK) {
    this.handle = handle;
    this.#privateKey = privateKey;
    this.#privateJwk = privateJwk;
    const { kty, crv, x, y } = privateJwk as { kty: string; crv: string; x: string; y: string };
    this.#publicJwk = { kty, crv, x, y };
  }

  /** @param stored a stored private ES256 key. Default: a new key. */
  static async open(stored?: Readonly<Record<string, unknown>>): Promise<DpopKey> {
    const [{ exportJWK, generateKeyPair, importJWK }, oauth] = await Promise.all([
      import('jose'),
      import('oauth4webapi'),
    ]);
    const jwk =
      (stored as JWK | undefined) ??
      (await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey));
    const { d: _, ...rest } = jwk as JWK & { d: string };
    const [privateKey, publicKey] = (await Promise.all([
      importJWK(jwk, 'ES256'),
      importJWK(rest, 'ES256', { extractable: true }),
    ])) as [CryptoKey, CryptoKey];
    return new DpopKey(oauth.DPoP({}, { privateKey, publicKey }), privateKey, jwk);
  }

  /** The private key, for storage. It is secret. */
  get jwk(): Readonly<Record<string, unknown>> {
    return this.#privateJwk;
  }

  /** Creates a new proof for one request (RFC 9449, sections 4.2 and 7). */
  async proof(method: string, url: URL, accessToken: string): Promise<string> {
    const { base64url, SignJWT } = await import('jose');
    const nonce = this.#nonces.get(url.origin);
    const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(accessToken));
    const claims = {
      jti: crypto.randomUUID(),
      htm: method,
      htu: url.origin + url.pathname,
      ath: base64url.encode(new Uint8Array(hash)),
      ...(nonce !== undefined && { nonce }),
    };
    const header = { alg: 'ES256', typ: 'dpop+jwt', jwk: this.#publicJwk };
    return new SignJWT(claims).setProtectedHeader(header).setIssuedAt().sign(this.#privateKey);
  }

  /**
   * Stores the nonce that a server requires.
   *
   * @returns whether it differs from the previous nonce.
   */
  keepNonce(origin: string, nonce: string): boolean {
    if (this.#nonces.get(origin) === nonce) return false;
    if (this.#nonces.size >= MAX_NONCES) this.#nonces.clear();
    this.#nonces.set(origin, nonce);
    return true;
  }
}
