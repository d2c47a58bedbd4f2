import type { Exchange } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { NotificationMethod } from '../../protocol/methods.ts';
import { changesOf, isWithin, LIST_CHANGES, readFilter } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { untilAborted, waitFor } from '../../base/wait.ts';
import { HeldNotices } from '../../wire/held-notices.ts';
import { splitTaskId, taskIdOf, unwrapUri, wrapUri } from './ids.ts';
import type { FleetMember, Members } from './members.ts';
import { renameNotice, renamingFor } from './results.ts';
import { ServerListen } from './server-listen.ts';

/** The most notifications that wait for the acknowledgement. */
const WAITING = { count: 1000, size: 10 * 1024 * 1024 };

/**
 * One `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions), made of one subscription per server. If one is
 * lost, it is opened again while the others continue.
 */
export class MergedListen {
  readonly #exchange: Exchange;
  readonly #filter: SubscriptionFilter;
  readonly #uris: ReadonlySet<string>;
  readonly #members: Members;
  readonly #parts = new Map<FleetMember, ServerListen>();
  readonly #over = new AbortController();
  /** Notifications from before the acknowledgement. */
  #waiting: HeldNotices | undefined = new HeldNotices(WAITING);

  /** @throws RpcError −32602 if the filter is malformed or too large. */
  constructor(exchange: Exchange, members: Members) {
    this.#exchange = exchange;
    this.#filter = readFilter(exchange.params['notifications']);
    this.#uris = new Set(this.#filter.resourceSubscriptions);
    this.#members = members;
  }

  /**
   * Listens to all servers and acknowledges once. Resolves after `end`.
   *
   * @throws RpcError of a server, if all servers refuse.
   */
  async run(): Promise<void> {
    this.#open();
    // The acknowledgement does not wait for a slow server, and less for one that did not answer last time.
    const parts = [...this.#parts.values()];
    const settled = Promise.allSettled(parts.map((part) => waitFor(part.settled, { timeout: part.member.timeout })));
    await waitFor(settled, { signal: this.#over.signal }).catch(() => {});
    if (this.#over.signal.aborted) return;
    this.#checkRefused();
    await this.#acknowledge();
    await untilAborted(new Promise(() => {}), this.#over.signal);
  }

  /** The subscription has ended. */
  end(): void {
    this.#over.abort();
    this.#waiting?.take();
    for (const part of this.#parts.values()) part.stop();
    this.#parts.clear();
  }

  /** Called when the servers of the fleet or their names have changed. */
  update(): void {
    for (const [member, part] of this.#parts) {
      if (!member.gone.aborted) continue;
      part.stop();
      this.#parts.delete(member);
    }
    this.#open();
    for (const [flag, notice] of LIST_CHANGES) if (this.#filter[flag]) void this.#notify(notice, undefined);
  }

  /** Subscribes to the servers that have no subscription yet. */
  #open(): void {
    if (this.#over.signal.aborted) return;
    for (const member of this.#members) {
      if (this.#parts.has(member)) continue;
      const filter = this.#filterFor(member);
      if (Object.keys(filter).length === 0) continue;
      const part = new ServerListen(this.#exchange, member, filter, {
        onnotice: (...notification) => this.#receive(member, ...notification),
        onacknowledged: (again) => {
          // Changes may have been missed until now.
          if (again || this.#waiting === undefined) this.#notifyAllChanged(part);
        },
      });
      this.#parts.set(member, part);
      void part.run();
    }
  }

  /** The filter for one server. */
  #filterFor(member: FleetMember): SubscriptionFilter {
    const filter: SubscriptionFilter = {};
    for (const [flag] of LIST_CHANGES) if (this.#filter[flag]) filter[flag] = true;
    const uris = (this.#filter.resourceSubscriptions ?? []).flatMap((asked) => {
      const wrapped = unwrapUri(asked);
      if (wrapped?.label === member.label) return [wrapped.uri];
      return this.#members.naming.bare ? [asked] : [];
    });
    const taskIds = (this.#filter.taskIds ?? []).flatMap((asked) => {
      const split = splitTaskId(asked);
      return split?.label === member.label ? [split.id] : [];
    });
    if (uris.length > 0) filter.resourceSubscriptions = uris;
    if (taskIds.length > 0) filter.taskIds = taskIds;
    return filter;
  }

  /** @throws RpcError if all servers refuse, so that there is nothing to listen to. */
  #checkRefused(): void {
    if (LIST_CHANGES.some(([flag]) => this.#filter[flag])) return;
    const parts = [...this.#parts.values()];
    const refused = parts.find((part) => part.refused)?.refused;
    if (refused && parts.every((part) => part.refused)) throw refused;
  }

  /**
   * The fleet itself announces list changes when servers are added or removed. Other entries are supported if a server
   * supports them.
   */
  async #acknowledge(): Promise<void> {
    const honoured: SubscriptionFilter = {};
    for (const [flag] of LIST_CHANGES) if (this.#filter[flag]) honoured[flag] = true;
    const parts = [...this.#parts.values()];
    const uris = new Set(parts.flatMap((part) => this.#urisOf(part)));
    const tasks = new Set(
      parts.flatMap(({ member, honoured: own }) => stringsOf(own?.taskIds).map((id) => taskIdOf(member.label, id))),
    );
    // In the caller's order, and only what the caller requested.
    const kept = this.#filter.resourceSubscriptions?.filter((uri) => uris.has(uri)) ?? [];
    const keptTasks = this.#filter.taskIds?.filter((id) => tasks.has(id)) ?? [];
    if (kept.length > 0) honoured.resourceSubscriptions = kept;
    if (keptTasks.length > 0) honoured.taskIds = keptTasks;
    await this.#exchange.notify(NotificationMethod.Acknowledged, { notifications: honoured });
    const waiting = this.#waiting?.take() ?? [];
    this.#waiting = undefined;
    for (const { method, params } of waiting) void this.#notify(method, params);
  }

  #urisOf({ member, honoured }: ServerListen): string[] {
    return stringsOf(honoured?.resourceSubscriptions).map((uri) => this.#outwardUri(member, uri));
  }

  /** The URI as the caller wrote it: URIs depend on the number of servers, which may have changed since. */
  #outwardUri(member: FleetMember, uri: string): string {
    const wrapped = wrapUri(member.label, uri);
    const named = unwrapUri(uri);
    // A server cannot announce a change of another server's resource.
    const forms = named && this.#members.withLabel(named.label) ? [wrapped] : [wrapped, uri];
    return (
      // Most are exactly what was asked for. There may be a thousand, so each is not compared with all of them.
      forms.find((form) => this.#uris.has(form)) ??
      forms.find((form) => this.#filter.resourceSubscriptions?.some((each) => isWithin(form, each))) ??
      this.#members.naming.outwardUri(member, uri)
    );
  }

  /** Handles a server's notification. */
  #receive(member: FleetMember, method: string, params: JsonObject): Promise<void> {
    const change = LIST_CHANGES.find(([, notice]) => notice === method);
    if (change) return this.#filter[change[0]] ? this.#notify(method, params) : Promise.resolve();
    if (method === NotificationMethod.ResourceUpdated && typeof params['uri'] === 'string')
      return this.#notify(method, { ...params, uri: this.#outwardUri(member, params['uri']) });
    const renamed = renameNotice(params, renamingFor(member, this.#members.naming));
    return this.#notify(method, member.withName(method, renamed));
  }

  #notifyAllChanged(part: ServerListen): void {
    const changed: SubscriptionFilter = { resourceSubscriptions: this.#urisOf(part) };
    for (const [flag] of LIST_CHANGES) if (this.#filter[flag] && part.honoured?.[flag]) changed[flag] = true;
    for (const [method, params] of changesOf(changed)) void this.#notify(method, params);
  }

  /** Notifies the caller, but not before the acknowledgement is sent. */
  #notify(method: string, params: JsonObject | undefined): Promise<void> {
    if (this.#over.signal.aborted) return Promise.resolve();
    if (this.#waiting === undefined) {
      const sent = this.#exchange.notify(method, params);
      // Code that awaits this gets the error. The creator of the exchange reports it.
      sent.catch(() => {});
      return sent;
    }
    this.#waiting.push(method, params ?? {});
    return Promise.resolve();
  }
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
