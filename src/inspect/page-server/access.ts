import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isOwnUser } from './peer-user.ts';

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
    // For the address of the one worker that the page starts.
    'trusted-types everwire-lint',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

/** The headers of the page, if it may show frames from a source. */
export function withFrames(source: string | undefined): Readonly<Record<string, string>> {
  if (source === undefined) return PROTECTION;
  return {
    ...PROTECTION,
    'content-security-policy': `${PROTECTION['content-security-policy']}; frame-src ${source}`,
  };
}

/** 256 random bits. A guess is compared by its hash, so the comparison always takes the same time. */
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

function isSecret(given: string | undefined, hash: Buffer | undefined): boolean {
  return given !== undefined && hash !== undefined && timingSafeEqual(hashOf(given), hash);
}

/** The most keys that are valid at a time. Each tab has one. Above this, the oldest becomes invalid. */
const MAX_KEYS = 8;

/** Decides which requests the page server answers. */
export class PageAccess {
  /** The token in the fragment of the printed address. Browsers do not send fragments. */
  readonly token: string;
  /**
   * The same for a browser that is started with the address. All users of the machine can read the command line of a
   * process, so only processes of this user may use it.
   */
  readonly browserToken: string;
  readonly #host: string;
  readonly #origin: string;
  /** Undefined after one of the tokens was used. */
  #tokenHash: Buffer | undefined;
  #browserTokenHash: Buffer | undefined;
  #keyHashes: readonly Buffer[] = [];

  /** @param origin the page's origin, as browsers write it. */
  constructor(origin: string) {
    this.#origin = origin;
    this.#host = new URL(origin).host;
    this.token = this.renew();
    const { text, hash } = createSecret();
    this.browserToken = text;
    this.#browserTokenHash = hash;
  }

  /** Returns a new token. The previous ones are no longer accepted. */
  renew(): string {
    const { text, hash } = createSecret();
    this.#tokenHash = hash;
    this.#browserTokenHash = undefined;
    return text;
  }

  /** Whether the `Host` header names this server. It does not if a foreign name was rebound to this address. */
  isOwnHost({ headersDistinct: { host = [] } }: IncomingMessage): boolean {
    return host.length === 1 && host[0] === this.#host;
  }

  /**
   * Whether the page itself sent a request of the API. Pages on other loopback ports count as foreign. With a GET,
   * browsers send no `Origin` to the page's own server.
   */
  isOwnPage({ method, headers: { origin, 'sec-fetch-site': site } }: IncomingMessage): boolean {
    return site === 'same-origin' && (origin === this.#origin || (origin === undefined && method === 'GET'));
  }

  /**
   * Exchanges the token of a request for a key. No token can be used again. Undefined if the token is wrong, or one was
   * already used.
   */
  async exchange({ headers, socket }: IncomingMessage): Promise<string | undefined> {
    const token = headers['everwire-token'] as string | undefined;
    const isOwn = isSecret(token, this.#browserTokenHash) && (await isOwnUser(socket).catch(() => false));
    if (!isSecret(token, this.#tokenHash) && !(isOwn && isSecret(token, this.#browserTokenHash))) return undefined;
    this.#tokenHash = undefined;
    this.#browserTokenHash = undefined;
    const { text, hash } = createSecret();
    this.#keyHashes = [...this.#keyHashes, hash].slice(-MAX_KEYS);
    return text;
  }

  /** Whether a request has a key. */
  hasKey({ headers: { 'everwire-key': key } }: IncomingMessage): boolean {
    return this.#keyHashes.some((hash) => isSecret(key as string | undefined, hash));
  }
}
