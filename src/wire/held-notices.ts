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
 * Notifications that cannot be sent yet, in order. A newer progress notification or change replaces an older one of the
 * same kind. If there are too many, the oldest one is dropped: log messages first, then unknown notifications, then
 * progress and updates. A notification that is larger than the limit is dropped itself.
 */
export class HeldNotices {
  readonly #limits: HeldLimits;
  /** Each notification under its key. A newer notification with the same key replaces an older one. */
  readonly #held = new Map<unknown, Held>();
  /**
   * The keys of notifications that may be dropped, in the order of dropping. List changes are never dropped, because
   * there is at most one for each list.
   */
  readonly #droppable: readonly [logs: Keys, unknown: Keys, others: Keys] = [new Set(), new Set(), new Set()];
  #size = 0;

  constructor(limits: HeldLimits) {
    this.#limits = limits;
  }

  /** Returns whether something was dropped. */
  push(method: string, params: JsonObject): boolean {
    const { count, size: most } = this.#limits;
    const key = keyOf(method, params);
    // A handler may pass params with cycles, so the counting stops at the limit.
    const size = weightOf(params, most);
    if (size > most) return true;
    this.#size += size - (this.#held.get(key)?.size ?? 0);
    this.#held.set(key, { method, params, size });
    this.#kind(method)?.add(key);
    let dropped = false;
    while (this.#held.size > count || this.#size > most) {
      const keys = this.#droppable.find((kind) => kind.size > 0);
      if (!keys) break;
      const [oldest] = keys;
      this.#remove(oldest);
      dropped = true;
    }
    return dropped;
  }

  /** Removes and returns the oldest. */
  shift(): Held | undefined {
    const [key] = this.#held.keys();
    return key === undefined ? undefined : this.#remove(key);
  }

  /** Removes and returns all. */
  take(): Held[] {
    const all = [...this.#held.values()];
    this.#held.clear();
    for (const keys of this.#droppable) keys.clear();
    this.#size = 0;
    return all;
  }

  #remove(key: unknown): Held {
    const held = this.#held.get(key)!;
    this.#held.delete(key);
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
