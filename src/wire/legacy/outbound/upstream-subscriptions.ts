import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { Method } from '../../../protocol/methods.ts';
import type { OwnRequest, SendRequest } from './own-request.ts';

/** A resource with at least one listener. */
export interface UpstreamSubscription {
  readonly uri: string;
  /** Settles with the server's answer to `resources/subscribe`. */
  readonly made: Promise<void>;
}

interface Entry extends UpstreamSubscription {
  listeners: number;
  made: Promise<void>;
  /** Set until the server has answered. */
  request: OwnRequest | undefined;
  state: 'waiting' | 'asked' | 'made' | 'over';
}

/** The resource subscriptions of a connection. Listeners share one subscription, which ends with the last of them. */
export class UpstreamSubscriptions {
  readonly #entries = new Map<string, Entry>();
  /** Settles when `resources/unsubscribe` is answered. Over HTTP a later request could otherwise arrive first. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #request: SendRequest;
  readonly #onerror: (error: Error) => void;
  #closed = false;

  constructor(request: SendRequest, onerror: (error: Error) => void) {
    this.#request = request;
    this.#onerror = onerror;
  }

  /** Adds a listener. Each call needs a call of `leave`, even if the subscription fails. */
  join(uri: string): UpstreamSubscription {
    let entry = this.#entries.get(uri);
    if (!entry) {
      entry = { uri, listeners: 0, made: Promise.resolve(), request: undefined, state: 'waiting' };
      this.#entries.set(uri, entry);
      entry.made = this.#make(entry);
      // All listeners may have left by now.
      entry.made.catch(() => {});
    }
    entry.listeners += 1;
    return entry;
  }

  /** Removes a listener. Resolves when the server has ended a subscription without listeners. A failure is reported. */
  async leave(subscription: UpstreamSubscription): Promise<void> {
    const entry = subscription as Entry;
    if ((entry.listeners -= 1) > 0) return;
    const { uri, state, request } = entry;
    this.#forget(entry);
    if (this.#closed || state === 'waiting' || state === 'over') return;
    request?.cancel(new RpcError(ErrorCode.InternalError, `Nobody listens to ${uri} any more`));
    const ended = this.#unsubscribe(uri, state === 'made');
    this.#ending.set(uri, ended);
    await ended;
    if (this.#ending.get(uri) === ended) this.#ending.delete(uri);
  }

  /** From now on, no unsubscribe requests are sent. */
  retire(): void {
    this.#closed = true;
  }

  async #make(entry: Entry): Promise<void> {
    const { uri } = entry;
    try {
      const ending = this.#ending.get(uri);
      if (ending) await ending;
      // All listeners have left meanwhile.
      if (this.#entries.get(uri) !== entry) return;
      entry.request = this.#request(Method.Subscribe, { uri });
      entry.state = 'asked';
      await entry.request.result;
      entry.state = 'made';
    } catch (error) {
      this.#forget(entry);
      throw error;
    } finally {
      entry.request = undefined;
    }
  }

  #forget(entry: Entry): void {
    entry.state = 'over';
    if (this.#entries.get(entry.uri) === entry) this.#entries.delete(entry.uri);
  }

  /** @param made whether the server has confirmed the subscription. Otherwise it may not know of it. */
  async #unsubscribe(uri: string, made: boolean): Promise<void> {
    try {
      await this.#request(Method.Unsubscribe, { uri }).result;
    } catch (error) {
      // A subscription that ended with its connection is not reported.
      if (made && !this.#closed) this.#onerror(error as Error);
    }
  }
}
