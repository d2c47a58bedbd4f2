import { mayPass } from '../../client/keep-listening.ts';
import { Resubscription } from '../../client/resubscription.ts';
import type { Exchange } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { Method, Notice } from '../../protocol/methods.ts';
import { isWithin } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { CHANGES } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';
import { PartExchange } from './part.ts';
import { isSame } from './same.ts';

/** What one server is asked for, and what the URIs are called that the caller asked for. */
export interface Wanted {
  readonly filter: SubscriptionFilter;
  readonly outward: ReadonlyMap<string, string>;
}

/** Who is told what becomes of it. */
export interface ServerListenOptions {
  readonly members: Members;
  /** Takes what the server says. */
  readonly onnotice: (listen: ServerListen, method: string, params: JsonObject) => Promise<void>;
  /** The server listens, `again` where it was listened to or asked before: what it said in between nobody heard. */
  readonly onacknowledged: (listen: ServerListen, again: boolean) => void;
  /** The server refuses: it is not listened to any more. */
  readonly onend: (listen: ServerListen) => void;
}

/** One server, listened to until it is stopped: again, with growing pauses, where it is lost. */
export class ServerListen {
  readonly member: FleetMember;
  /** Resolves when it is known for the first time what the server does, or that it does not. */
  readonly settled: Promise<void>;
  /** What the server does of what it was asked for. */
  honoured: SubscriptionFilter | undefined;
  /** Why it does nothing, as far as is known. */
  refused: RpcError | undefined;
  readonly #whole: Exchange;
  readonly #options: ServerListenOptions;
  readonly #stopped = new AbortController();
  readonly #resubscription = new Resubscription();
  #wanted: Wanted;
  #settle!: () => void;

  constructor(whole: Exchange, member: FleetMember, wanted: Wanted, options: ServerListenOptions) {
    this.member = member;
    this.settled = new Promise((resolve) => (this.#settle = resolve));
    this.#whole = whole;
    this.#wanted = wanted;
    this.#options = options;
  }

  /** What the caller calls a URI that it asked for, or a part of one; undefined for any other. */
  asked(uri: string): string | undefined {
    const { outward } = this.#wanted;
    const exact = outward.get(uri);
    if (exact !== undefined) return exact;
    let nearest: string | undefined;
    for (const own of outward.keys()) if (isWithin(uri, own) && own.length > (nearest?.length ?? -1)) nearest = own;
    return nearest === undefined ? undefined : `${outward.get(nearest)!}${uri.slice(nearest.length)}`;
  }

  /** Takes what is wanted now. False where the server has to be asked anew for that. */
  suffices(wanted: Wanted | undefined): boolean {
    const { filter } = this.#wanted;
    const asked = wanted?.filter ?? {};
    const urisOf = (each: SubscriptionFilter): ReadonlySet<string> => new Set(each.resourceSubscriptions);
    const same =
      CHANGES.every(({ flag }) => filter[flag] === true || asked[flag] !== true) &&
      isSame(urisOf(filter), urisOf(asked));
    if (same && wanted) this.#wanted = { filter, outward: wanted.outward };
    return same;
  }

  /** Nobody listens to it any more. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves when it is stopped, or the server refuses. */
  async run(): Promise<void> {
    const { members, onend } = this.#options;
    const { signal } = this.#stopped;
    for (let again = false; !signal.aborted; again = true) {
      const { lost, ended, acknowledged } = await this.#once(again);
      if (signal.aborted) break;
      if (!acknowledged && !mayPass(lost)) {
        this.refused = lost;
        onend(this);
        break;
      }
      // A server may end a subscription at any time, and is there all the same.
      if (!(acknowledged && ended)) members.failed(this.member, Method.Listen, lost);
      if (!acknowledged) this.refused ??= lost;
      this.#settle();
      this.#resubscription.ended();
      await this.#resubscription.pause(signal);
      this.refused = undefined;
    }
    this.#settle();
  }

  /** One subscription. Resolves with why it is over. */
  async #once(again: boolean): Promise<{ lost: RpcError; ended: boolean; acknowledged: boolean }> {
    const { members, onnotice, onacknowledged } = this.#options;
    const { signal } = this.#stopped;
    let acknowledged = false;
    const params = { notifications: this.#wanted.filter };
    const exchange = new PartExchange(this.#whole, Method.Listen, params, (method, said = {}) => {
      if (signal.aborted) return Promise.resolve();
      if (method !== Notice.Acknowledged) return onnotice(this, method, said);
      if (acknowledged) return Promise.resolve();
      acknowledged = true;
      this.#resubscription.acknowledged();
      this.honoured = isObject(said['notifications']) ? said['notifications'] : {};
      onacknowledged(this, again);
      this.#settle();
      members.answered(this.member);
      return Promise.resolve();
    });
    const stop = (): void => exchange.abort(new RpcError(CONNECTION_CLOSED, 'Nobody listens any more'));
    signal.addEventListener('abort', stop, { once: true });
    let ended = false;
    const lost = await this.member.service(exchange).then(
      () => {
        ended = true;
        return new RpcError(CONNECTION_CLOSED, 'the subscription has ended');
      },
      (error: unknown) => RpcError.from(error),
    );
    signal.removeEventListener('abort', stop);
    return { lost, ended, acknowledged };
  }
}
