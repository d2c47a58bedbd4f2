import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { isSessionGone, isTemporary } from '../../jsonrpc/error-chain.ts';
import type { Claims } from '../../store/claims.ts';
import type { KeptSession, SessionKeeper } from '../../transport/http/client/kept-session.ts';
import type { Pin } from './pin.ts';

/** A session that needs more characters in the store is not kept. */
const MAX_CHARACTERS = 8192;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface KeptSessionsOptions {
  readonly claims: Claims;
  /** A secret of all processes. */
  readonly stateKey: string | Uint8Array;
  /** Names the server, so that no other one gets its sessions. */
  readonly server: string;
  readonly onerror: (error: Error) => void;
}

/**
 * Keeps the sessions at an HTTP server with the claims of its clients. Their ids are secrets, so they are encrypted with
 * AES-256-GCM, each for its client and server.
 */
export class KeptSessions {
  readonly #options: KeptSessionsOptions;
  readonly #key: Buffer;

  constructor(options: KeptSessionsOptions) {
    this.#options = options;
    this.#key = createHash('sha256').update('everwire-kept-session').update(options.stateKey).digest();
  }

  /** Undefined if the claims keep nothing. */
  keeperOf(pin: Pin): SessionKeeper | undefined {
    const { claims, onerror } = this.#options;
    if (!claims.keep || !claims.kept) return undefined;
    let last = Promise.resolve();
    const keep = (session: KeptSession | undefined): void => {
      const text = session && this.#seal(session, pin.key);
      last = last.then(() => claims.keep!(pin.key, text)).catch(onerror);
    };
    return {
      get goesOn() {
        return pin.moved;
      },
      resume: async (open) => {
        // Without it, a new session is opened.
        const text = await claims.kept!(pin.key).catch(() => undefined);
        const session = text === undefined ? undefined : this.#open(text, pin.key);
        if (!session) return undefined;
        try {
          return await open(session);
        } catch (error) {
          if (!isSessionGone(error) && isTemporary(error) === true) throw error;
          keep(undefined);
          return undefined;
        }
      },
      keep,
    };
  }

  #seal(session: KeptSession, key: string): string | undefined {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(this.#about(key));
    const bytes = [iv, cipher.update(JSON.stringify(session)), cipher.final(), cipher.getAuthTag()];
    const text = Buffer.concat(bytes).toString('base64url');
    return text.length > MAX_CHARACTERS ? undefined : text;
  }

  /** Undefined if it was kept for another client or server, or with another key. */
  #open(text: string, key: string): KeptSession | undefined {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    const iv = bytes.subarray(0, IV_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(this.#about(key)).setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const plain = [decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()];
      return JSON.parse(Buffer.concat(plain).toString()) as KeptSession;
    } catch {
      return undefined;
    }
  }

  #about(key: string): Buffer {
    return Buffer.from(JSON.stringify([this.#options.server, key]));
  }
}
