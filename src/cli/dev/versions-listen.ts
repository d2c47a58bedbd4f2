import { Deferred } from '../../base/deferred.ts';
import { untilAborted } from '../../base/wait.ts';
import { ChildExchange } from '../../bridge/fleet/child-exchange.ts';
import { splitTaskId } from '../../bridge/fleet/ids.ts';
import { renameNotice } from '../../bridge/fleet/results.ts';
import type { Exchange } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { changesOf, filterIn, LIST_CHANGES, readFilter } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { renamingFor, type VersionUse } from './version-use.ts';

/**
 * One `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions) that continues on each new version. Tasks are
 * followed on the version that runs them.
 */
export class VersionsListen {
  readonly #exchange: Exchange;
  readonly #filter: SubscriptionFilter;
  readonly #parts = new Map<VersionUse, () => void>();
  readonly #over = new AbortController();
  /** The first version to acknowledge has done so. */
  readonly #acknowledged = new Deferred();
  #hasAcknowledged = false;
  #newest: VersionUse | undefined;

  /**
   * @param live the versions that run, from the oldest to the newest.
   * @throws RpcError −32602 if the filter is malformed or too large.
   */
  constructor(exchange: Exchange, live: readonly VersionUse[]) {
    this.#exchange = exchange;
    this.#filter = readFilter(exchange.params['notifications']);
    this.#newest = live.at(-1);
    for (const use of live) this.#open(use);
  }

  /**
   * Resolves after `end`.
   *
   * @throws RpcError if the newest version refuses the subscription.
   */
  async run(): Promise<void> {
    await untilAborted(this.#acknowledged.promise, this.#over.signal);
    await untilAborted(new Promise(() => {}), this.#over.signal);
  }

  end(): void {
    this.#over.abort();
    for (const stop of this.#parts.values()) stop();
    this.#parts.clear();
  }

  /** Continues on a new version, and tells the caller what has changed. */
  update(newest: VersionUse, changed: SubscriptionFilter): void {
    this.#newest = newest;
    for (const [use, stop] of this.#parts) {
      if (this.#tasksOf(use).length > 0) continue;
      stop();
      this.#parts.delete(use);
    }
    this.#open(newest);
    const { resourceSubscriptions } = this.#filter;
    // What a resource contains may differ in each version.
    const missed: SubscriptionFilter = { ...(resourceSubscriptions && { resourceSubscriptions }) };
    for (const [flag] of LIST_CHANGES) if (this.#filter[flag] && changed[flag]) missed[flag] = true;
    void this.#acknowledged.promise.then(
      () => {
        for (const [method, params] of changesOf(missed)) this.#notify(method, params);
      },
      () => {},
    );
  }

  /** The version's own ids of its tasks in the filter. */
  #tasksOf({ version }: VersionUse): string[] {
    return (this.#filter.taskIds ?? []).flatMap((asked) => {
      const split = splitTaskId(asked);
      return split?.label === version.label ? [split.id] : [];
    });
  }

  #open(use: VersionUse): void {
    if (this.#over.signal.aborted) return;
    const taskIds = this.#tasksOf(use);
    const { taskIds: _, ...filter } = this.#filter;
    const own = { ...(use === this.#newest && filter), ...(taskIds.length > 0 && { taskIds }) };
    if (use !== this.#newest && taskIds.length === 0) return;
    const child = new ChildExchange(
      this.#exchange,
      Method.Listen,
      { notifications: own },
      async (method, params = {}) => this.#receive(use, method, params),
    );
    const stop = (): void => child.abort(new RpcError(CONNECTION_CLOSED, 'The subscription was stopped'));
    this.#parts.set(use, stop);
    use.version.service(child).catch((error: unknown) => {
      if (use === this.#newest) this.#acknowledged.reject(RpcError.from(error));
    });
  }

  #receive(use: VersionUse, method: string, params: JsonObject): void {
    if (!this.#parts.has(use)) return;
    if (method === NotificationMethod.Acknowledged) {
      if (use === this.#newest) this.#acknowledge(filterIn(params));
    } else if (use === this.#newest || method === NotificationMethod.Task) {
      this.#notify(method, use.seen(renameNotice(params, renamingFor(use))));
    }
  }

  /** Lists that a later version may have are acknowledged too. */
  #acknowledge({ resourceSubscriptions }: SubscriptionFilter): void {
    if (this.#hasAcknowledged) return;
    this.#hasAcknowledged = true;
    const honoured: SubscriptionFilter = { ...(resourceSubscriptions && { resourceSubscriptions }) };
    for (const [flag] of LIST_CHANGES) if (this.#filter[flag]) honoured[flag] = true;
    const taskIds = (this.#filter.taskIds ?? []).filter((id) =>
      [...this.#parts.keys()].some(({ version }) => splitTaskId(id)?.label === version.label),
    );
    if (taskIds.length > 0) honoured.taskIds = taskIds;
    this.#notify(NotificationMethod.Acknowledged, { notifications: honoured });
    this.#acknowledged.resolve();
  }

  #notify(method: string, params: JsonObject): void {
    if (this.#over.signal.aborted) return;
    // Code that creates exchanges reports this error.
    this.#exchange.notify(method, params).catch(() => {});
  }
}
