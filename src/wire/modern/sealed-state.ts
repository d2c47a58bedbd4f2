import { Refusal } from '../../core/refusal.ts';
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { checkStateKey } from './state-key.ts';

/** What a client carries from one round of a request to the next, and can neither read nor change. */
export interface RequestState {
  /** The exchange that waits for its next round, and which round that is. Absent where nothing waits. */
  readonly exchange?: string | undefined;
  readonly round?: number | undefined;
  /** What the service gave as its `requestState`. */
  readonly service?: string | undefined;
  /** Answers so far, and the questions that are open, for a process that does not remember them. */
  readonly record?: JsonObject | undefined;
  /** What the handler noted. */
  readonly notes?: readonly (readonly [string, unknown])[] | undefined;
}

/** Whom and what a state is for: it is refused in any other hands and on any other request. */
export interface StateBinding {
  readonly principal: string | undefined;
  /** `requestDigest` of the request. */
  readonly digest: string;
}

const PREFIX = 'ew1.';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals request states with AES-256-GCM (2026-07-28, patterns/mrtr: Server Requirements, 4 and 5): bound to the principal
 * and to the request, and good for a while only.
 */
export class StateSeal {
  readonly #key: Buffer;
  readonly #lifetime: number;

  /**
   * @param key secret that processes share which may take over each other's requests; any text or bytes of at least 16
   * bytes. Default: a random one of this process.
   * @param lifetime milliseconds.
   * @throws RangeError where the key is shorter.
   */
  constructor(key: string | Uint8Array | undefined, lifetime: number) {
    checkStateKey(key);
    this.#key =
      key === undefined ? randomBytes(32) : createHash('sha256').update('everwire state').update(key).digest();
    this.#lifetime = lifetime;
  }

  seal(state: RequestState, { principal, digest }: StateBinding): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    const text = JSON.stringify({ ...state, principal, digest, until: Date.now() + this.#lifetime });
    return (
      PREFIX +
      Buffer.concat([iv, cipher.update(Buffer.from(text)), cipher.final(), cipher.getAuthTag()]).toString('base64url')
    );
  }

  /** @throws Refusal −32602 where it was not sealed by this key, or not for this caller and request, or too long ago. */
  open(text: unknown, { principal, digest }: StateBinding): RequestState {
    const state = this.#decrypt(text);
    if (!state) throw invalid('it was not made by this server, or was changed');
    if (state['principal'] !== principal) throw invalid('it was made for another caller');
    if (state['digest'] !== digest) throw invalid('it was made for another request');
    if (!(state['until'] > Date.now())) throw invalid('it has expired');
    return state;
  }

  #decrypt(text: unknown): JsonObject | undefined {
    if (typeof text !== 'string' || !text.startsWith(PREFIX)) return undefined;
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    // One text for one state: base64 as lax as Node's would let others through.
    if (PREFIX + bytes.toString('base64url') !== text) return undefined;
    try {
      // Without this length Node accepts a tag that was cut to 4 bytes.
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), options);
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      const state: unknown = JSON.parse(plain.toString());
      return isObject(state) ? state : undefined;
    } catch {
      return undefined;
    }
  }
}

function invalid(why: string): Refusal {
  return Refusal.params(`"requestState" is not valid: ${why}; call again without it`);
}
