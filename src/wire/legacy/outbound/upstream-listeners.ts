import { Deferred } from '../../../base/deferred.ts';
import { printableError } from '../../../base/printable.ts';
import type { RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { isAborted } from '../../../core/base-exchange.ts';
import { inTurns } from '../../../base/in-turns.ts';
import { inNextTurn } from '../../../base/next-turn.ts';
import { untilAborted } from '../../../base/wait.ts';
import type { Exchange, Session } from '../../../core/exchange.ts';
import { LOG_LEVELS, reaches, type LogLevel } from '../../../protocol/logging.ts';
import { Method, NotificationMethod } from '../../../protocol/methods.ts';
import { isWithin, LIST_CHANGES } from '../../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../../protocol/types.ts';
import { HeldNotices } from '../../held-notices.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import type { SendRequest } from './own-request.ts';
import { ServerSetting } from './server-setting.ts';
import { UpstreamSubscriptions } from './upstream-subscriptions.ts';

interface Listener {
  readonly exchange: Exchange;
  readonly filter: SubscriptionFilter;
  readonly notices: NoticeQueue;
  /** Settles when the listener has ended. */
  readonly over: Deferred;
}

/**
 * After how many comparisons of listeners and subscribed URIs with notifications further notifications wait for the next
 * turn of the event loop: a server may send a thousand at once, and a client may have thousands of subscriptions.
 */
const PER_TURN = 5000;
/** How many resources of one listener are subscribed to at once. */
const JOINED_AT_ONCE = 20;
const BACKLOG = { count: 1000, size: 10 * 1024 * 1024 };

const LIST_FILTERS = new Map(LIST_CHANGES.map(([filter, notice]) => [notice as string, filter]));

/**
 * The listeners of a server of a handshake revision. The server sends each notification once for the whole connection.
 * Change notifications go to the listeners that asked for them, and all others to all. Several listeners of a session, also at
 * several processes, get a notification once. Several listeners share one resource subscription. The connection's log
 * level is the least severe that any listener wants.
 */
export class UpstreamListeners {
  readonly #listeners = new Set<Listener>();
  readonly #subscriptions: UpstreamSubscriptions;
  readonly #level: ServerSetting<LogLevel>;
  readonly #onerror: (error: Error) => void;
  /** How many listeners each session has, at all processes together. */
  readonly #perSession = new Map<Session | string, number>();
  /** How many URIs all listeners listen to. */
  #uris = 0;
  /** The work of this turn of the event loop, see `PER_TURN`. */
  #work = 0;
  /** How many listeners the current notification has not reached yet. */
  #left = 0;
  #closed = false;
  /** Notifications for the next turns. */
  #backlog: HeldNotices | undefined;
  /** Whether something was dropped since the backlog began. Only the first drop is reported. */
  #dropped = false;
  /** The least severe level that any call without a session has wanted. */
  #ofCalls: LogLevel | undefined;

  constructor(request: SendRequest, onerror: (error: Error) => void) {
    this.#subscriptions = new UpstreamSubscriptions(request, onerror);
    this.#level = new ServerSetting<LogLevel>(
      (level) => request(Method.SetLevel, { level }),
      () => leastSevere(this.#wantedLevels()),
    );
    this.#onerror = onerror;
  }

  /** The newest listener. */
  get newest(): Exchange | undefined {
    let newest: Exchange | undefined;
    for (const { exchange } of this.#listeners) if (!isAborted(exchange)) newest = exchange;
    return newest;
  }

  /** Serves one `subscriptions/listen`, until its signal fires. Rejects when the connection closes. */
  async listen(exchange: Exchange, capabilities: JsonObject): Promise<JsonObject> {
    const filter: SubscriptionFilter = exchange.params['notifications'] ?? {};
    const uris = capabilities['resources']?.['subscribe'] ? (filter.resourceSubscriptions ?? []) : [];
    const { signal } = exchange;
    const over = new Deferred();
    const listener: Listener = { exchange, filter, notices: new NoticeQueue(exchange, this.#onerror), over };
    const stop = (): void => {
      this.#remove(listener);
      over.resolve();
    };
    const needsLevel = capabilities['logging'] !== undefined && this.#mayChangeLevel(listener);
    this.#add(listener);
    this.#uris += filter.resourceSubscriptions?.length ?? 0;
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const accepted = new Set(uris);
    const waiting = accepted.values();
    const joined: string[] = [];
    let refusal: Error | undefined;
    const join = async (): Promise<void> => {
      for (const uri of waiting) {
        joined.push(uri);
        await this.#subscriptions.join(uri, signal).catch((error: RpcError) => {
          refusal ??= error;
          accepted.delete(uri);
          if (error.origin === 'peer') return;
          // No others are joined.
          accepted.clear();
          throw error;
        });
      }
    };
    try {
      if (needsLevel) await this.#level.adjust(signal);
      await Promise.all(Array.from({ length: JOINED_AT_ONCE }, join));
      if (!signal.aborted) {
        // It names what the server accepts (2026-07-28, patterns/subscriptions: Acknowledgment).
        const notifications = honoured(filter, [...accepted], capabilities);
        if (refusal) {
          if (Object.keys(notifications).length === 0) throw refusal;
          this.#onerror(printableError(`Some resource subscriptions were refused: ${refusal.message}`));
        }
        await untilAborted(exchange.notify(NotificationMethod.Acknowledged, { notifications }), signal);
      }
      await over.promise;
      return {};
    } finally {
      this.#remove(listener);
      signal.removeEventListener('abort', stop);
      await Promise.all(joined.map((uri) => this.#subscriptions.leave(uri)));
    }
  }

  /** Sends a notification to the listeners that asked for it, or only to the given session. */
  deliver(method: string, params: JsonObject, session?: Session): void {
    if (session) return this.#ofSession(session).forEach(this.#offering(method, params));
    if (this.#work < PER_TURN && !this.#backlog && this.#left === 0) return this.#deliverToAll(method, params);
    this.#backlog ??= new HeldNotices(BACKLOG);
    if (!this.#backlog.push(method, params) || this.#dropped) return;
    this.#dropped = true;
    this.#onerror(new Error('The server sends too fast for all subscriptions: some notifications are dropped'));
  }

  #deliverToAll(method: string, params: JsonObject): void {
    if (this.#listeners.size === 0) return;
    if (this.#work === 0) inNextTurn(this.#continue);
    this.#work += this.#listeners.size + (method === NotificationMethod.ResourceUpdated ? this.#uris : 0);
    this.#left = this.#listeners.size;
    const offer = this.#offering(method, params);
    const all = inTurns(newestFirst(this.#listeners), (listener) => {
      this.#left -= 1;
      offer(listener);
    });
    all.then(() => this.#deliverWaiting(), this.#onerror);
  }

  readonly #continue = (): void => {
    this.#work = 0;
    this.#deliverWaiting();
  };

  #deliverWaiting(): void {
    while (this.#backlog && this.#work < PER_TURN && this.#left === 0) {
      const next = this.#backlog.shift();
      if (next) this.#deliverToAll(next.method, next.params);
      else {
        this.#backlog = undefined;
        this.#dropped = false;
      }
    }
  }

  /** Newest first. */
  #ofSession(session: Session): Listener[] {
    const name = nameOf(session);
    return newestFirst(this.#listeners).filter(({ exchange }) => nameOf(exchange.caller.session) === name);
  }

  /** Sends a notification to each given listener that asked for it, but to each session once. */
  #offering(method: string, params: JsonObject): (listener: Listener) => void {
    const list = LIST_FILTERS.get(method);
    const told = new Set<unknown>();
    const offer = (listener: Listener): void => {
      const { exchange, filter, notices } = listener;
      const { session } = exchange.caller;
      if (this.#closed) return;
      if (!this.#listeners.has(listener)) {
        // It has left since the notification came. The session may have listened again.
        if (session && this.#perSession.has(nameOf(session))) this.#ofSession(session).forEach(offer);
        return;
      }
      if (list) {
        if (!filter[list]) return;
      } else if (method === NotificationMethod.ResourceUpdated) {
        if (!filter.resourceSubscriptions?.some((uri) => isWithin(params['uri'], uri))) return;
      }
      const whose = nameOf(session) ?? exchange;
      if (told.has(whose)) return;
      told.add(whose);
      notices.push(method, params);
    };
    return offer;
  }

  /**
   * Whether the level may change with this new listener. A session has a listener for its level, and may have a
   * thousand more, each for one resource. These do not compute the level of all listeners anew.
   */
  #mayChangeLevel({ exchange, filter }: Listener): boolean {
    const { session } = exchange.caller;
    if (session === undefined || !this.#perSession.has(nameOf(session)) || this.#level.changing) return true;
    return !filter.resourceSubscriptions?.length || LIST_CHANGES.some(([list]) => filter[list]);
  }

  #add(listener: Listener): void {
    this.#listeners.add(listener);
    const name = nameOf(listener.exchange.caller.session);
    if (name) this.#perSession.set(name, (this.#perSession.get(name) ?? 0) + 1);
  }

  /** Removes a listener. Notifications that a slow reader has not received move to the session's newer listener. */
  #remove(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return;
    const { exchange, filter, notices } = listener;
    this.#uris -= filter.resourceSubscriptions?.length ?? 0;
    const { session } = exchange.caller;
    const waiting = notices.take();
    if (!session) return;
    const name = nameOf(session);
    const left = this.#perSession.get(name)! - 1;
    if (left > 0) this.#perSession.set(name, left);
    else this.#perSession.delete(name);
    // The listeners of a session that has ended leave one after the other, and nobody gets what waits.
    if (waiting.length === 0 || session.signal.aborted) return;
    const others = this.#ofSession(session);
    for (const { method, params } of waiting) others.forEach(this.#offering(method, params));
  }

  /** The connection is about to close, so unsubscribe requests are no longer sent. */
  retire(): void {
    this.#subscriptions.retire();
  }

  close(error: Error): void {
    this.retire();
    this.#closed = true;
    this.#backlog?.take();
    inTurns(this.#listeners, ({ over }) => over.reject(error)).catch(this.#onerror);
  }

  /**
   * Makes the server send messages of this level too. If the server refuses, that is reported.
   *
   * @param signal fires when the caller no longer waits.
   */
  lower(level: LogLevel, signal: AbortSignal): Promise<void> | undefined {
    if (this.#ofCalls !== undefined && reaches(level, this.#ofCalls)) return undefined;
    this.#ofCalls = level;
    return this.#level.adjust(signal).catch(this.#onerror);
  }

  /** A session without a level wants all messages. A caller without a session and without a level wants none. */
  #wantedLevels(): (LogLevel | undefined)[] {
    const levels = [...this.#listeners]
      .map(({ exchange }) => exchange.caller)
      .filter(({ session, logLevel }) => session !== undefined || logLevel !== undefined)
      .map(({ logLevel }) => logLevel);
    if (this.#ofCalls !== undefined) levels.push(this.#ofCalls);
    return levels;
  }
}

/** What a session has in common with itself at other processes. */
function nameOf<T extends Session | undefined>(session: T): T | string {
  return session?.sharedId ?? session;
}

/** When a session listens again, its older exchange is about to end. */
function newestFirst(listeners: Iterable<Listener>): Listener[] {
  return [...listeners].toReversed();
}

/** The part of a filter that the server's capabilities support. */
function honoured(filter: SubscriptionFilter, uris: string[], capabilities: JsonObject): SubscriptionFilter {
  const part: SubscriptionFilter = uris.length > 0 ? { resourceSubscriptions: uris } : {};
  for (const [key] of LIST_CHANGES)
    if (filter[key] && capabilities[key.replace('ListChanged', '')]?.['listChanged']) part[key] = true;
  return part;
}

/**
 * The level that serves all listeners: all messages if any listener named no level. Undefined if there are no listeners
 * with a level.
 */
function leastSevere(levels: readonly (LogLevel | undefined)[]): LogLevel | undefined {
  if (levels.every((level) => level === undefined)) return undefined;
  if (levels.includes(undefined)) return 'debug';
  return LOG_LEVELS[Math.min(...levels.map((level) => LOG_LEVELS.indexOf(level!)))];
}
