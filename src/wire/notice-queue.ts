import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange } from '../core/exchange.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { TAKEN } from '../transport/transport.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/** The most notifications of an exchange that are being sent. Further ones wait. */
const MAX_ON_THE_WAY = 32;
/** The most notifications that wait. Beyond this the oldest are dropped. */
const MAX_WAITING = 1000;
/** The same limit in bytes of memory, estimated. */
const MAX_SIZE = 10 * 1024 * 1024;

interface Waiting {
  readonly method: string;
  readonly params: JsonObject;
  readonly size: number;
}

/** The keys of waiting notifications of one kind, oldest first. */
type Keys = Set<unknown>;

/** Notifications that replace older ones of the same kind. */
const CHANGES: ReadonlySet<string> = new Set([
  NotificationMethod.ToolsListChanged,
  NotificationMethod.PromptsListChanged,
  NotificationMethod.ResourcesListChanged,
  NotificationMethod.ResourceUpdated,
]);

/**
 * The notifications for one exchange, in order. A server cannot be slowed down, so they wait here if the reader is
 * slow. Only the newest progress, and the newest change of each kind, waits. If too much waits, the oldest is dropped:
 * log messages first, then unknown notifications, then progress and resource updates. This is reported once until the
 * queue is empty.
 */
export class NoticeQueue {
  readonly #exchange: Exchange;
  readonly #onerror: (error: Error) => void;
  #onTheWay = 0;
  /** Waiting notifications by the key under which a newer one replaces them. Created when one has to wait. */
  #waiting: Map<unknown, Waiting> | undefined;
  /**
   * The keys of waiting notifications that may be dropped, in the order of dropping: log messages, unknown, all others.
   */
  #droppable: readonly [logs: Keys, unknown: Keys, others: Keys] | undefined;
  #size = 0;
  /** Whether something was dropped since the queue was last empty. */
  #dropped = false;

  constructor(exchange: Exchange, onerror: (error: Error) => void) {
    this.#exchange = exchange;
    this.#onerror = onerror;
  }

  push(method: string, params: JsonObject): void {
    if (this.#onTheWay < MAX_ON_THE_WAY && !this.#waiting) return this.#send(method, params);
    const waiting = (this.#waiting ??= new Map());
    const key = keyOf(method, params);
    const size = weightOf(params);
    this.#size += size - (waiting.get(key)?.size ?? 0);
    waiting.set(key, { method, params, size });
    this.#kind(method)?.add(key);
    if (waiting.size > MAX_WAITING || this.#size > MAX_SIZE) this.#drop(waiting);
  }

  /** Sends everything that waits, without a limit. Nothing may follow the result, and that is about to be sent. */
  flush(): void {
    for (const { method, params } of this.take()) this.#send(method, params);
  }

  /** Removes and returns everything that waits. */
  take(): Waiting[] {
    const waiting = [...(this.#waiting?.values() ?? [])];
    this.#emptied();
    return waiting;
  }

  #send(method: string, params: JsonObject): void {
    const sent = this.#exchange.notify(method, params);
    if (sent === TAKEN) return;
    this.#onTheWay += 1;
    // The side that made the exchange reports a failure.
    const done = (): void => this.#next();
    sent.then(done, done);
  }

  #next(): void {
    this.#onTheWay -= 1;
    while (this.#waiting && this.#onTheWay < MAX_ON_THE_WAY) {
      const [first] = this.#waiting;
      if (!first) return this.#emptied();
      const [key, { method, params }] = first;
      this.#remove(this.#waiting, key);
      this.#send(method, params);
    }
  }

  #emptied(): void {
    this.#waiting = undefined;
    this.#droppable = undefined;
    this.#size = 0;
    this.#dropped = false;
  }

  #remove(waiting: Map<unknown, Waiting>, key: unknown): void {
    const { method, size } = waiting.get(key)!;
    waiting.delete(key);
    this.#kind(method)?.delete(key);
    this.#size -= size;
  }

  /** Undefined if it is never dropped. There are at most as many list changes as lists. */
  #kind(method: string): Keys | undefined {
    const [logs, unknown, others] = (this.#droppable ??= [new Set(), new Set(), new Set()]);
    if (method === NotificationMethod.Message) return logs;
    if (method === NotificationMethod.Progress || method === NotificationMethod.ResourceUpdated) return others;
    return CHANGES.has(method) ? undefined : unknown;
  }

  #drop(waiting: Map<unknown, Waiting>): void {
    do {
      const keys = this.#droppable?.find(({ size }) => size > 0);
      if (!keys) return;
      const [oldest] = keys;
      this.#remove(waiting, oldest);
      if (!this.#dropped) {
        this.#dropped = true;
        this.#onerror(
          new Error(
            `The reader is slow: of more than ${MAX_WAITING} notifications, or ${MAX_SIZE} characters, that wait for it the oldest are dropped`,
          ),
        );
      }
    } while (waiting.size > MAX_WAITING || this.#size > MAX_SIZE);
  }
}

/** The key under which a newer notification replaces this one. */
function keyOf(method: string, params: JsonObject): unknown {
  // A call has one progress token. A session has one for each of its tasks.
  if (method === NotificationMethod.Progress)
    return `${method} ${typeof params['progressToken']} ${params['progressToken']}`;
  if (method === NotificationMethod.ResourceUpdated) return `${method} ${params['uri']}`;
  return CHANGES.has(method) ? method : Symbol();
}
