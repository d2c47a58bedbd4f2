import { Refusal } from '../../../core/refusal.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { requestDigest } from './digest.ts';
import { StateSeal, type RequestState, type StateBinding } from './sealed-state.ts';

export interface RequestStatesOptions {
  readonly stateKey: string | Uint8Array | undefined;
  /** How long a state is valid. Milliseconds. */
  readonly askTimeout: number;
  /** Whether the states of the service itself are sealed too. */
  readonly sealState: boolean;
  readonly onerror: (error: Error) => void;
}

/** Seals the states of requests, and opens those that callers send back. */
export class RequestStates {
  readonly #options: RequestStatesOptions;
  readonly #seal: StateSeal;
  /** Whether a state that cannot be decrypted was reported. */
  #foreignReported = false;

  /** @throws RangeError if the key is too short. */
  constructor(options: RequestStatesOptions) {
    this.#options = options;
    this.#seal = new StateSeal(options.stateKey, options.askTimeout);
  }

  /** A state that is valid for this principal and this request. */
  seal(state: RequestState, principal: string | undefined, method: string, params: JsonObject): string {
    return this.#seal.seal(state, { principal, digest: requestDigest(method, params) });
  }

  /**
   * The state that a retry carries. Undefined if it is the service's own state.
   *
   * @throws Refusal if it is not valid.
   */
  open(principal: string | undefined, method: string, params: JsonObject): RequestState | undefined {
    const { requestState } = params;
    if (typeof requestState !== 'string') throw Refusal.params('"requestState" must be a string');
    const binding: StateBinding = {
      principal,
      get digest() {
        return requestDigest(method, params);
      },
    };
    try {
      return this.#seal.open(requestState, binding);
    } catch (error) {
      // The server behind the service may also be an Everwire that seals its states in the same way.
      if (!this.#options.sealState) return undefined;
      this.#reportForeignState();
      throw error;
    }
  }

  /** Once, because clients can send any number of them. */
  #reportForeignState(): void {
    if (!this.#seal.failedToDecrypt || this.#foreignReported) return;
    this.#foreignReported = true;
    this.#options.onerror(
      new Error(
        'A client sent a "requestState" of another key: another process, or this one before its restart, may have made it. ' +
          'Give all of them the same stateKey (--state-key)',
      ),
    );
  }
}
