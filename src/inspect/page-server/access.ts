import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The headers of every response. */
export const PROTECTION = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' blob:",
    'media-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

/** 256 random bits. A guess is compared by its hash, which takes the same time for every guess. */
interface Secret {
  readonly text: string;
  readonly hash: Buffer;
}

function createSecret(): Secret {
  const text = randomBytes(32).toString('base64url');
  return { text, hash: hashOf(text) };
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function isSecret(given: string | undefined, hash: Buffer): boolean {
  return given !== undefined && timingSafeEqual(hashOf(given), hash);
}

/** The most keys that are valid at a time: one for each tab. The oldest is forgotten. */
const MAX_KEYS = 8;

/** Decides who may ask for something. */
export class PageAccess {
  /** Goes into the fragment of the printed address, which browsers send to nobody. */
  readonly token: string;
  readonly #host: string;
  readonly #origin: string;
  /** Undefined once it was used. */
  #tokenHash: Buffer | undefined;
  #keyHashes: readonly Buffer[] = [];

  /** @param origin of the page, as browsers write it. */
  constructor(origin: string) {
    this.#origin = origin;
    this.#host = new URL(origin).host;
    this.token = this.renew();
  }

  /** Another token. The one before is no longer accepted. */
  renew(): string {
    const { text, hash } = createSecret();
    this.#tokenHash = hash;
    return text;
  }

  /** Whether the browser believes that it talks to this server. A rebound name shows here. */
  isOwnHost({ headersDistinct: { host = [] } }: IncomingMessage): boolean {
    return host.length === 1 && host[0] === this.#host;
  }

  /**
   * Whether the page itself sent a control request. Pages on other loopback ports count as foreign. Browsers send no
   * `Origin` with a GET of the page itself.
   */
  isOwnPage({ method, headers: { origin, 'sec-fetch-site': site } }: IncomingMessage): boolean {
    return site === 'same-origin' && (origin === this.#origin || (origin === undefined && method === 'GET'));
  }

  /** The key for the token of a request. The token is used then. Undefined if it is wrong, or was used. */
  exchange({ headers: { 'everwire-token': token } }: IncomingMessage): string | undefined {
    if (!this.#tokenHash || !isSecret(token as string | undefined, this.#tokenHash)) return undefined;
    this.#tokenHash = undefined;
    const { text, hash } = createSecret();
    this.#keyHashes = [...this.#keyHashes, hash].slice(-MAX_KEYS);
    return text;
  }

  /** Whether a request has a key. */
  hasKey({ headers: { 'everwire-key': key } }: IncomingMessage): boolean {
    return this.#keyHashes.some((hash) => isSecret(key as string | undefined, hash));
  }
}
