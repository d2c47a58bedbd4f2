import { Method } from '../../../protocol/methods.ts';
import type { SendRequest } from './own-request.ts';
import { ServerSetting } from './server-setting.ts';

/** A resource with at least one listener, or one that is being unsubscribed. */
interface Resource {
  listeners: number;
  readonly subscribed: ServerSetting<boolean>;
}

/** The resource subscriptions of a connection. Listeners share one subscription, which ends with the last of them. */
export class UpstreamSubscriptions {
  readonly #resources = new Map<string, Resource>();
  readonly #request: SendRequest;
  readonly #onerror: (error: Error) => void;
  #retired = false;

  constructor(request: SendRequest, onerror: (error: Error) => void) {
    this.#request = request;
    this.#onerror = onerror;
  }

  /**
   * Adds a listener. Resolves with the server's answer, or when the signal fires. Each call needs a call of `leave`,
   * even if the subscription fails.
   *
   * @throws RpcError if the server refuses.
   */
  join(uri: string, signal: AbortSignal): Promise<void> {
    let resource = this.#resources.get(uri);
    if (!resource) this.#resources.set(uri, (resource = this.#resource(uri)));
    resource.listeners += 1;
    return resource.subscribed.adjust(signal);
  }

  /** Removes a listener. Resolves when the server has ended a subscription without listeners. A failure is reported. */
  async leave(uri: string): Promise<void> {
    const resource = this.#resources.get(uri)!;
    const { subscribed } = resource;
    if ((resource.listeners -= 1) > 0 || this.#retired) return;
    const made = subscribed.value === true;
    try {
      await subscribed.adjust();
    } catch (error) {
      // A failure is not reported if the connection has closed, or if the subscription may never have been made.
      if (made && !this.#retired) this.#onerror(error as Error);
    }
    if (resource.listeners === 0 && this.#resources.get(uri) === resource) this.#resources.delete(uri);
  }

  /** From now on, no unsubscribe requests are sent. */
  retire(): void {
    this.#retired = true;
  }

  #resource(uri: string): Resource {
    const ask = (subscribe: boolean) => this.#request(subscribe ? Method.Subscribe : Method.Unsubscribe, { uri });
    const resource: Resource = {
      listeners: 0,
      subscribed: new ServerSetting<boolean>(ask, () => resource.listeners > 0, false),
    };
    return resource;
  }
}
