import { Refusal } from '../../../core/refusal.ts';
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { checkStateKey } from '../../../base/state-key.ts';

/** An inbound among those of all processes that use the same state. */
export interface Place {
  readonly node: string;
  readonly inbound: string;
}

/** The state that a client sends back with the next round of a request. The client can neither read nor change it. */
export interface RequestState {
  /** The exchange that waits for its next round, and the number of that round. Absent if no exchange waits. */
  readonly exchange?: string | undefined;
  readonly round?: number | undefined;
  /** Where the exchange waits, if it can be reached from other processes. */
  readonly place?: Place | undefined;
  /** The `requestState` of the service itself. */
  readonly service?: string | undefined;
  /** The answers so far and the open questions, for a process that does not have them in memory. */
  readonly record?: JsonObject | undefined;
  /** The notes of the handler (`Context.once`). */
  readonly notes?: readonly (readonly [string, unknown])[] | undefined;
}

/**
 * The caller and the request that a state belongs to. A state is refused from another caller and with another request.
 */
export interface StateBinding {
  readonly principal: string | undefined;
  /** `requestDigest` of the request. It is slow for large requests, so `open` reads it last. */
  readonly digest: string;
}

const PREFIX = 'ew1.';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FOREIGN = 'it was not made by this server, or was changed';

/**
 * Seals request states with AES-256-GCM (2026-07-28, patterns/mrtr: Server Requirements, 4 and 5), bound to the
 * principal and to the request, and valid for a limited time.
 */
export class StateSeal {
  /** Whether a state in this format could not be opened. Another process may have made it, with another key. */
  failedToDecrypt = false;
  readonly #key: Buffer;
  readonly #lifetime: number;

  /**
   * @param key a secret of at least 16 bytes, shared by the processes that serve the same clients. Default: a random one
   * of this process.
   * @param lifetime milliseconds.
   * @throws RangeError if the key is shorter.
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

  /**
   * @throws Refusal −32602 if the state was sealed with another key, for another caller or for another request, or has
   * expired.
   */
  open(text: unknown, binding: StateBinding): RequestState {
    if (typeof text !== 'string') throw invalid(FOREIGN);
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    // Node's decoder is lenient. Only the exact text that `seal` made is accepted.
    if (PREFIX + bytes.toString('base64url') !== text) throw invalid(FOREIGN);
    const state = this.#decrypt(bytes);
    if (state['principal'] !== binding.principal) throw invalid('it was made for another caller');
    if (!(state['until'] > Date.now())) throw invalid('it has expired');
    if (state['digest'] !== binding.digest) throw invalid('it was made for another request');
    return state;
  }

  #decrypt(bytes: Buffer): JsonObject {
    try {
      // Without a given length, Node accepts tags as short as 4 bytes.
      // Stryker disable next-line ObjectLiteral: a state with a shorter tag has no text, so it is refused anyway
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), options);
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      return JSON.parse(plain.toString()) as JsonObject;
    } catch {
      this.failedToDecrypt = true;
      throw invalid(FOREIGN);
    }
  }
}

function invalid(why: string): Refusal {
  return Refusal.params(`"requestState" is not valid: ${why}; call again without it`);
}
