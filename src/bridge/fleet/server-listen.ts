import { Resubscription } from '../../client/resubscription.ts';
import type { Exchange } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { isTemporary } from '../../jsonrpc/error-chain.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { filterIn } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { ChildExchange } from './child-exchange.ts';
import type { FleetMember } from './members.ts';

/** The callbacks of a server's subscription. */
export interface ServerListenOptions {
  /** Gets the server's notifications. */
  readonly onnotice: (method: string, params: JsonObject) => Promise<void>;
  /**
   * Called when the server has acknowledged. `again`: there was a subscription before, and notifications in between
   * were missed.
   */
  readonly onacknowledged: (again: boolean) => void;
}

/** Listens to one server until it is stopped. If the subscription is lost, it subscribes again after growing pauses. */
export class ServerListen {
  readonly member: FleetMember;
  /** Resolves when the server has acknowledged or refused for the first time. */
  readonly settled: Promise<void>;
  /** The part of the filter that the server supports. */
  honoured: SubscriptionFilter | undefined;
  /** Why the server refused, if known. */
  refused: RpcError | undefined;
  readonly #parent: Exchange;
  readonly #filter: SubscriptionFilter;
  readonly #options: ServerListenOptions;
  readonly #stopped = new AbortController();
  readonly #resubscription = new Resubscription();
  #settle!: () => void;

  constructor(parent: Exchange, member: FleetMember, filter: SubscriptionFilter, options: ServerListenOptions) {
    this.member = member;
    this.settled = new Promise((resolve) => (this.#settle = resolve));
    this.#parent = parent;
    this.#filter = filter;
    this.#options = options;
  }

  /** Stops listening. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves when it is stopped, or the server refuses. */
  async run(): Promise<void> {
    const { onnotice, onacknowledged } = this.#options;
    const { signal } = this.#stopped;
    for (let again = false; !signal.aborted; again = true) {
      let acknowledged = false;
      const params = { notifications: this.#filter };
      const child = new ChildExchange(this.#parent, Method.Listen, params, async (method, noticeParams = {}) => {
        if (signal.aborted) return;
        if (method !== NotificationMethod.Acknowledged) return onnotice(method, noticeParams);
        if (acknowledged) return;
        acknowledged = true;
        this.#resubscription.acknowledged();
        this.honoured = filterIn(noticeParams);
        this.member.answered();
        onacknowledged(again);
        this.#settle();
      });
      const stop = (): void => child.abort(new RpcError(CONNECTION_CLOSED, 'The subscription was stopped'));
      signal.addEventListener('abort', stop, { once: true });
      const failure = await this.member.service(child).then(
        () => undefined,
        (error: unknown) => RpcError.from(error),
      );
      signal.removeEventListener('abort', stop);
      if (signal.aborted) break;
      const lost = failure ?? new RpcError(CONNECTION_CLOSED, 'the subscription has ended');
      if (!acknowledged) this.refused ??= lost;
      if (!acknowledged && isTemporary(lost) === false) break;
      // A server may end a subscription at any time without being down.
      if (failure || !acknowledged) this.member.failed(Method.Listen, lost);
      this.#settle();
      this.#resubscription.ended();
      await this.#resubscription.pause(signal);
      this.refused = undefined;
    }
    this.#settle();
  }
}
