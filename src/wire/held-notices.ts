import { BufferBudget, type Holder } from '../base/buffer-budget.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { CHANGES } from '../protocol/subscriptions.ts';

interface Held {
  readonly method: string;
  readonly params: JsonObject;
  readonly size: number;
}

/** The keys of held notifications of one kind, oldest first. */
type Keys = Set<unknown>;

/** How many notifications are held, and how many bytes of memory (estimated). */
export interface HeldLimits {
  readonly count: number;
  readonly size: number;
}

/**
 * Limits all notifications of the process that cannot be sent yet to 64 MiB. One slow client has a limit of its own, but
 * may have many calls and subscriptions.
 */
const total = new BufferBudget(64 * 1024 * 1024);

/**
 * Notifications that cannot be sent yet, in order. A newer progress notification or change replaces an older one of the
 * same kind. If there are too many, the oldest one is dropped: log messages first, then unknown notifications, then
 * progress and updates. A notification that is larger than the limit is dropped itself. If all together need too much
 * memory, those that have waited longest are dropped. Whoever stops using it must call `take`.
 */
export class HeldNotices implements Holder {
  held = 0;
  readonly #limits: HeldLimits;
  /** Each notification under its key. A newer notification with the same key replaces an older one. */
  readonly #notices = new Map<unknown, Held>();
  /**
   * The keys of notifications that may be dropped, in the order of dropping. List changes are never dropped, because
   * there is at most one for each list.
   */
  readonly #droppable: readonly [logs: Keys, unknown: Keys, others: Keys] = [new Set(), new Set(), new Set()];
  #size = 0;
  /** Whether notifications were dropped since the last `push`. */
  #lost = false;

  constructor(limits: HeldLimits) {
    this.#limits = limits;
  }

  /** The oldest. */
  get first(): Held | undefined {
    const [first] = this.#notices.values();
    return first;
  }

  /** Returns whether something was dropped. */
  push(method: string, params: JsonObject): boolean {
    const { count, size: most } = this.#limits;
    const key = keyOf(method, params);
    // A handler may pass params with cycles, so the counting stops at the limit.
    const size = weightOf(params, most);
    if (size > most) return true;
    this.#size += size - (this.#notices.get(key)?.size ?? 0);
    this.#notices.set(key, { method, params, size });
    this.#kind(method)?.add(key);
    let dropped = this.#lost;
    this.#lost = false;
    while (this.#notices.size > count || this.#size > most) {
      const keys = this.#droppable.find((kind) => kind.size > 0);
      if (!keys) break;
      const [oldest] = keys;
      this.#remove(oldest);
      dropped = true;
    }
    total.hold(this, this.#size);
    return dropped;
  }

  /** Removes and returns the oldest. */
  shift(): Held | undefined {
    const [key] = this.#notices.keys();
    if (key === undefined) return undefined;
    const first = this.#remove(key);
    total.hold(this, this.#size);
    return first;
  }

  /** Removes and returns all. */
  take(): Held[] {
    const all = [...this.#notices.values()];
    this.#notices.clear();
    for (const keys of this.#droppable) keys.clear();
    this.#size = 0;
    total.hold(this, 0);
    return all;
  }

  /** Drops everything, to make room for others. */
  cutOff(): void {
    this.take();
    this.#lost = true;
  }

  #remove(key: unknown): Held {
    const held = this.#notices.get(key)!;
    this.#notices.delete(key);
    this.#kind(held.method)?.delete(key);
    this.#size -= held.size;
    return held;
  }

  /** The set with the keys of all notifications of the same kind. Undefined if they are never dropped. */
  #kind(method: string): Keys | undefined {
    const [logs, unknown, others] = this.#droppable;
    if (method === NotificationMethod.Message) return logs;
    if (method === NotificationMethod.Progress || method === NotificationMethod.ResourceUpdated) return others;
    return CHANGES.has(method) ? undefined : unknown;
  }
}

/** The key under which a newer notification replaces this one. */
function keyOf(method: string, params: JsonObject): unknown {
  switch (method) {
    case NotificationMethod.Progress:
      // A call has one progress token. A session has one token for each of its tasks.
      return `${method} ${typeof params['progressToken']} ${params['progressToken']}`;
    case NotificationMethod.ResourceUpdated:
      return `${method} ${params['uri']}`;
    case NotificationMethod.Task:
      return `${method} ${params['taskId']}`;
    default:
      return CHANGES.has(method) ? method : Symbol();
  }
}
