import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { Method } from '../../protocol/methods.ts';
import type { OwnRequest, SendRequest } from './own-request.ts';

/** One resource that is listened to. */
export interface UpstreamSubscription {
  readonly uri: string;
  /** Settles with the server's answer to `resources/subscribe`. */
  readonly made: Promise<void>;
}

interface Entry extends UpstreamSubscription {
  listeners: number;
  made: Promise<void>;
  /** While the server has not answered. */
  request: OwnRequest | undefined;
  state: 'waiting' | 'asked' | 'made' | 'over';
}

/** The resource subscriptions of a connection: each is made once, however many listen, and given up with the last of them. */
export class UpstreamSubscriptions {
  readonly #entries = new Map<string, Entry>();
  /** Settle when the server has answered `resources/unsubscribe`. What came next could overtake it over HTTP. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #request: SendRequest;
  readonly #onerror: (error: Error) => void;
  #closed = false;

  constructor(request: SendRequest, onerror: (error: Error) => void) {
    this.#request = request;
    this.#onerror = onerror;
  }

  /** Whoever joins has to leave, whatever becomes of the subscription. */
  join(uri: string): UpstreamSubscription {
    let entry = this.#entries.get(uri);
    if (!entry) {
      entry = { uri, listeners: 0, made: Promise.resolve(), request: undefined, state: 'waiting' };
      this.#entries.set(uri, entry);
      entry.made = this.#make(entry);
      // Whoever joined may be gone.
      entry.made.catch(() => {});
    }
    entry.listeners += 1;
    return entry;
  }

  /** Resolves when the server has let go of what nobody listens to any more; where it does not, that is reported. */
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

  /** From now on the server need not be told that nobody listens. */
  retire(): void {
    this.#closed = true;
  }

  async #make(entry: Entry): Promise<void> {
    const { uri } = entry;
    try {
      const ending = this.#ending.get(uri);
      if (ending) await ending;
      // All have left meanwhile.
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

  /** @param made whether the server has said that it is subscribed to: else it may know nothing of it. */
  async #unsubscribe(uri: string, made: boolean): Promise<void> {
    try {
      await this.#request(Method.Unsubscribe, { uri }).result;
    } catch (error) {
      // What ended with its connection meanwhile is no loss.
      if (made && !this.#closed) this.#onerror(error as Error);
    }
  }
}
