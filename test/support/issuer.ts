import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';

export interface TokenOptions {
  /** Default `at+jwt`. Null for none. */
  readonly typ?: string | null;
  /** The id of the key in the header. Null for none. Default: that of the key. */
  readonly kid?: string | null;
}

/** An authorization server on loopback, with the parts that a resource server uses: its metadata and its keys. */
export class TestIssuer {
  /** The requested paths. */
  readonly asked: string[] = [];
  /** The status of every response, if not 200. */
  status = 200;
  /** Additional or replaced fields of the metadata. */
  metadata: Record<string, unknown> = {};
  /** The response of the token endpoint. */
  grant: () => Promise<string> = () => Promise.reject(new Error('nothing is granted'));
  /** The URL of the metadata. */
  metadataPath = '/.well-known/oauth-authorization-server';
  readonly #path: string;
  readonly #server: Server;
  #key!: CryptoKey;
  #keys: JWK[] = [];
  #count = 0;

  private constructor(path: string) {
    this.#path = path;
    this.#server = createServer(({ url = '' }, response) => {
      this.asked.push(url);
      void this.#answer(url).then((body) => {
        response.writeHead(body ? this.status : 404, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
    });
  }

  /** @param path the path of the issuer's identifier */
  static async start(path = ''): Promise<TestIssuer> {
    const issuer = new TestIssuer(path);
    await issuer.rotate();
    await new Promise<void>((resolve) => issuer.#server.listen(0, '127.0.0.1', resolve));
    return issuer;
  }

  async #answer(path: string): Promise<object | undefined> {
    if (path === '/keys') return this.jwks;
    if (path === '/token') return { access_token: await this.grant(), token_type: 'Bearer', expires_in: 300 };
    if (path !== this.metadataPath) return undefined;
    return {
      issuer: this.url,
      jwks_uri: `${this.origin}/keys`,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      ...this.metadata,
    };
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return this.origin + this.#path;
  }

  get jwks(): { keys: JWK[] } {
    return { keys: this.#keys };
  }

  /** Signs with a new key from now on. The old keys stay known, unless they are removed. */
  async rotate({ forget = true, alg = 'ES256' } = {}): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(alg);
    this.#key = privateKey;
    const jwk = { ...(await exportJWK(publicKey)), kid: `key-${++this.#count}`, alg, use: 'sig' };
    this.#keys = forget ? [jwk] : [...this.#keys, jwk];
  }

  /** A token for `alice` that expires in 5 minutes. Claims that are null are omitted. */
  token(audience: string, claims: JWTPayload = {}, { typ = 'at+jwt', kid }: TokenOptions = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: this.url, aud: audience, sub: 'alice', iat: now, exp: now + 300, client_id: 'app' };
    const all = Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== null);
    const key = this.#keys.at(-1)!;
    const name = kid === undefined ? key.kid : (kid ?? undefined);
    const header = { alg: key.alg!, ...(typ !== null && { typ }), ...(name !== undefined && { kid: name }) };
    return new SignJWT(Object.fromEntries(all)).setProtectedHeader(header).sign(this.#key);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => void this.#server.close(() => resolve()));
  }
}
