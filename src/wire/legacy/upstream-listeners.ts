import type { JsonObject } from '../../jsonrpc/message.ts';
import { isAborted } from '../../core/base-exchange.ts';
import { untilAborted } from '../../util/wait.ts';
import type { Exchange, Session } from '../../core/exchange.ts';
import { LOG_LEVELS, reaches, type LogLevel } from '../../protocol/logging.ts';
import { Notice } from '../../protocol/methods.ts';
import { isWithin, LIST_CHANGES } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { NoticeQueue } from '../notice-queue.ts';
import type { SendRequest } from './own-request.ts';
import { UpstreamLevel } from './upstream-level.ts';
import { UpstreamSubscriptions, type UpstreamSubscription } from './upstream-subscriptions.ts';

interface Listener {
  readonly exchange: Exchange;
  readonly filter: SubscriptionFilter;
  readonly notices: NoticeQueue;
  readonly end: (error?: Error) => void;
}

const LIST_FILTERS = new Map(LIST_CHANGES.map(([filter, notice]) => [notice as string, filter]));

/**
 * Those who listen to a server of a handshake revision, which says everything to the whole connection: the change
 * notifications go to whoever asked for them, everything else once to each session. Resource subscriptions are made
 * once, however many listen; the log level of the connection is the least severe that any of them wants.
 */
export class UpstreamListeners {
  readonly #listeners = new Set<Listener>();
  readonly #subscriptions: UpstreamSubscriptions;
  readonly #level: UpstreamLevel;
  readonly #onerror: (error: Error) => void;
  /** The least severe that a call of a caller without a session ever wanted. */
  #ofCalls: LogLevel | undefined;

  constructor(request: SendRequest, onerror: (error: Error) => void) {
    this.#subscriptions = new UpstreamSubscriptions(request, onerror);
    this.#level = new UpstreamLevel(request, () => leastSevere(this.#wantedLevels()));
    this.#onerror = onerror;
  }

  /** The one that began last. */
  get newest(): Exchange | undefined {
    let newest: Exchange | undefined;
    for (const { exchange } of this.#listeners) if (!isAborted(exchange)) newest = exchange;
    return newest;
  }

  /** The session of those that listen, where they have just one. */
  get onlySession(): Session | undefined {
    const sessions = new Set([...this.#listeners].map(({ exchange }) => exchange.caller.session));
    sessions.delete(undefined);
    return sessions.size === 1 ? sessions.values().next().value : undefined;
  }

  /** Serves one `subscriptions/listen`, until its signal fires. Rejects when the connection closes. */
  async listen(exchange: Exchange, capabilities: JsonObject): Promise<JsonObject> {
    const filter: SubscriptionFilter = exchange.params['notifications'] ?? {};
    const uris = capabilities['resources']?.['subscribe'] ? (filter.resourceSubscriptions ?? []) : [];
    const { signal } = exchange;
    let end!: Listener['end'];
    const over = new Promise<void>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve());
    });
    over.catch(() => {});
    const listener: Listener = { exchange, filter, notices: new NoticeQueue(exchange, this.#onerror), end };
    const stop = (): void => {
      this.#remove(listener);
      end();
    };
    this.#listeners.add(listener);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const joined: UpstreamSubscription[] = [];
    try {
      if (capabilities['logging']) await this.#level.adjust(signal);
      for (const uri of uris) {
        if (signal.aborted) break;
        const subscription = this.#subscriptions.join(uri);
        joined.push(subscription);
        await untilAborted(subscription.made, signal);
      }
      if (!signal.aborted) {
        const acknowledgement = { notifications: honoured(filter, uris, capabilities) };
        await untilAborted(exchange.notify(Notice.Acknowledged, acknowledgement), signal);
      }
      await over;
      return {};
    } finally {
      this.#remove(listener);
      signal.removeEventListener('abort', stop);
      await Promise.all(joined.map((subscription) => this.#subscriptions.leave(subscription)));
    }
  }

  /** Tells whoever listens to such things, or the one session that it is for. */
  deliver(method: string, params: JsonObject, session?: Session): void {
    this.#deliver(method, params, session ? this.#ofSession(session) : this.#listeners);
  }

  #ofSession(session: Session): Listener[] {
    return [...this.#listeners].filter(({ exchange }) => exchange.caller.session === session);
  }

  #deliver(method: string, params: JsonObject, listeners: Iterable<Listener>): void {
    const list = LIST_FILTERS.get(method);
    const sessions = new Set<unknown>();
    // Newest first: where a session listens anew, its older exchange is about to end.
    for (const { exchange, filter, notices } of [...listeners].toReversed()) {
      if (list) {
        if (!filter[list]) continue;
      } else if (method === Notice.ResourceUpdated) {
        if (!filter.resourceSubscriptions?.some((uri) => isWithin(params['uri'], uri))) continue;
      } else {
        const whose = exchange.caller.session ?? exchange;
        if (sessions.has(whose)) continue;
        sessions.add(whose);
      }
      notices.push(method, params);
    }
  }

  /** What a slow reader has not had yet is not lost where its session listens anew. */
  #remove(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return;
    const { exchange, notices } = listener;
    const { session } = exchange.caller;
    if (!session) return;
    for (const { method, params } of notices.take()) this.#deliver(method, params, this.#ofSession(session));
  }

  /** The connection is about to be closed: the server need not be told that nobody listens any more. */
  retire(): void {
    this.#subscriptions.retire();
  }

  close(error: Error): void {
    this.retire();
    for (const { end } of this.#listeners) end(error);
  }

  /**
   * Has the server send messages of this level too, if it does not yet. Where it refuses, that is reported.
   *
   * @param signal fires when that is not waited for any more.
   */
  lower(level: LogLevel, signal: AbortSignal): Promise<void> | undefined {
    if (this.#ofCalls !== undefined && reaches(level, this.#ofCalls)) return undefined;
    this.#ofCalls = level;
    return this.#level.adjust(signal).catch(this.#onerror);
  }

  /** Silence of a session is the wish for all messages; of a caller without one it is none. */
  #wantedLevels(): (LogLevel | undefined)[] {
    const levels = [...this.#listeners]
      .map(({ exchange }) => exchange.caller)
      .filter(({ session, logLevel }) => session !== undefined || logLevel !== undefined)
      .map(({ logLevel }) => logLevel);
    if (this.#ofCalls !== undefined) levels.push(this.#ofCalls);
    return levels;
  }
}

/** The subset of a filter that the server's capabilities let it honour. */
function honoured(filter: SubscriptionFilter, uris: string[], capabilities: JsonObject): SubscriptionFilter {
  return {
    ...(filter.toolsListChanged && capabilities['tools']?.['listChanged'] ? { toolsListChanged: true } : {}),
    ...(filter.promptsListChanged && capabilities['prompts']?.['listChanged'] ? { promptsListChanged: true } : {}),
    ...(filter.resourcesListChanged && capabilities['resources']?.['listChanged']
      ? { resourcesListChanged: true }
      : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
  };
}

/** The level that serves everyone: where some named none, they want all. Undefined where nobody named one. */
function leastSevere(levels: readonly (LogLevel | undefined)[]): LogLevel | undefined {
  if (levels.every((level) => level === undefined)) return undefined;
  if (levels.includes(undefined)) return 'debug';
  return LOG_LEVELS[Math.min(...levels.map((level) => LOG_LEVELS.indexOf(level!)))];
}
