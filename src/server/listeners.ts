import type { Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Notice } from '../protocol/methods.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';

/** The lists that can change, by the name that the filter and the capabilities have for them. */
export type ListKind = 'tools' | 'prompts' | 'resources';

const CHANGED = {
  tools: Notice.ToolsListChanged,
  prompts: Notice.PromptsListChanged,
  resources: Notice.ResourcesListChanged,
} as const;

type Due = [method: string, params: JsonObject | undefined];

/** One open `subscriptions/listen`. There may be ten thousand, so it holds no more than it must. */
interface Listener {
  readonly exchange: Exchange;
  readonly filter: SubscriptionFilter;
  /** What is still to be sent while one notification is on its way; at most one of each. */
  due: Map<string, Due> | undefined;
}

/** The open `subscriptions/listen` exchanges of a server (2026-07-28, basic/patterns/subscriptions). */
export class Listeners {
  readonly #listeners = new Set<Listener>();
  readonly #changed = new Set<ListKind>();
  readonly #onerror: (error: Error) => void;

  constructor(onerror: (error: Error) => void) {
    this.#onerror = onerror;
  }

  /**
   * Registers at once, before it returns; acknowledges first; resolves when the exchange's signal fires.
   *
   * @param supported the lists that the server has.
   * @throws RpcError −32602 (rejects) where the filter is malformed; and the reason for which the acknowledgement could
   * not be sent.
   */
  listen(exchange: Exchange, supported: ReadonlySet<ListKind>): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const { signal } = exchange;
      const filter = honoured(exchange.params['notifications'], supported);
      if (signal.aborted) {
        resolve({});
        return;
      }
      const listener: Listener = { exchange, filter, due: undefined };
      const end = () => {
        this.#listeners.delete(listener);
        resolve({});
      };
      // Nothing else may come before the acknowledgement (2026-07-28, basic/patterns/subscriptions: Acknowledgment).
      exchange.notify(Notice.Acknowledged, { notifications: filter }).catch((error: unknown) => {
        signal.removeEventListener('abort', end);
        this.#listeners.delete(listener);
        reject(error);
      });
      this.#listeners.add(listener);
      signal.addEventListener('abort', end, { once: true });
    });
  }

  /** A list has changed. All changes made in one go are one notification. */
  changed(kind: ListKind): void {
    if (this.#listeners.size === 0 || this.#changed.has(kind)) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#flush());
    this.#changed.add(kind);
  }

  /** A resource has changed. */
  updated(uri: string): void {
    for (const listener of this.#listeners) {
      if (listener.filter.resourceSubscriptions?.includes(uri))
        this.#deliver(listener, uri, Notice.ResourceUpdated, { uri });
    }
  }

  #flush(): void {
    const kinds = [...this.#changed];
    this.#changed.clear();
    for (const listener of this.#listeners) {
      for (const kind of kinds) {
        if (listener.filter[`${kind}ListChanged`]) this.#deliver(listener, CHANGED[kind], CHANGED[kind], undefined);
      }
    }
  }

  /** Sends one at a time, so that a reader who does not read piles up no more than one of each. */
  #deliver(listener: Listener, key: string, method: string, params: JsonObject | undefined): void {
    if (listener.due !== undefined) {
      listener.due.set(key, [method, params]);
      return;
    }
    listener.due = new Map();
    void this.#send(listener, method, params);
  }

  async #send(listener: Listener, method: string, params: JsonObject | undefined): Promise<void> {
    let next: Due | undefined = [method, params];
    while (next !== undefined && this.#listeners.has(listener)) {
      try {
        await listener.exchange.notify(...next);
      } catch (error) {
        if (this.#listeners.has(listener)) this.#onerror(RpcError.from(error));
      }
      next = take(listener.due);
    }
    listener.due = undefined;
  }
}

function take(due: Map<string, Due> | undefined): Due | undefined {
  for (const [key, next] of due ?? []) {
    due?.delete(key);
    return next;
  }
  return undefined;
}

/** The part of what was asked for that this server can do. */
function honoured(asked: unknown, supported: ReadonlySet<ListKind>): SubscriptionFilter {
  if (!isObject(asked)) throw new RpcError(ErrorCode.InvalidParams, '"notifications" must be an object');
  const filter: SubscriptionFilter = {};
  for (const kind of supported) {
    if (asked[`${kind}ListChanged`] === true) filter[`${kind}ListChanged`] = true;
  }
  const uris: unknown = asked['resourceSubscriptions'];
  if (uris === undefined) return filter;
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) {
    throw new RpcError(ErrorCode.InvalidParams, '"resourceSubscriptions" must be an array of strings');
  }
  if (supported.has('resources') && uris.length > 0) filter.resourceSubscriptions = uris;
  return filter;
}
