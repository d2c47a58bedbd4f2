import { openerFor } from '../client/open.ts';
import type { ClientOptions } from '../client/options.ts';
import type { Opener } from '../client/requester.ts';
import { kindOf, type Target } from '../client/target.ts';
import type { Caller, Service, Session } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { MAX_TIMER } from '../base/timer.ts';
import { Method } from '../protocol/methods.ts';
import { Connection } from './connection.ts';
import { identityOf, keyOf, OWN_IDENTITY, type BridgeIdentity } from './identity.ts';
import { reportOutage } from './outage.ts';
import type { ClientOf } from './question-attribution.ts';

/** The server behind a bridge, and how clients share connections to it. */
export interface BridgeOptions extends Pick<
  ClientOptions,
  'authorizer' | 'eraCache' | 'eras' | 'fetch' | 'headers' | 'probeTimeout' | 'revision'
> {
  /**
   * The server: a URL, a command, a server in this process, or a function that makes a new transport for each
   * connection.
   */
  readonly target: Target;
  /**
   * How clients share connections to a handshake server. `per-session`: each client has its own connection. `shared`:
   * all clients share one. A number: all clients share so many, and each client always uses the same one. Default
   * `per-session`.
   *
   * A client is a session. Without sessions (2026-07-28), all callers of one principal with the same declared name,
   * version and capabilities are one client. Calls of one client run in parallel, and it gets every question on its
   * connection. On a shared connection, the bridge attributes each question to a client. For this, calls of tools that
   * ask questions run for one client at a time.
   */
  readonly connections?: 'per-session' | 'shared' | number | undefined;
  /**
   * How callers without a principal are treated. `one-client`: all of them are one client, as on stdio. `same-user`:
   * they belong to one user, and each program is a client, as on loopback. `strangers`: they may be different people,
   * so questions are attributed on their connections too. Default `strangers`.
   */
  readonly anonymous?: 'one-client' | 'same-user' | 'strangers' | undefined;
  /** Milliseconds that connecting may take. Default 60 000. */
  readonly connectTimeout?: number | undefined;
  /**
   * Milliseconds after which a connection without requests is closed. The next request makes a new one, and open
   * subscriptions continue on it. The server's state for the old connection is lost. Default 0: never.
   */
  readonly idleTimeout?: number | undefined;
  /**
   * The most connections for clients without a session. Beyond that, the connection that was idle the longest is closed
   * and `onerror` is called. If none is idle, the request is refused. Default 100.
   */
  readonly maxConnections?: number | undefined;
  /**
   * Gets errors that cannot be returned to a caller. Also called once when the server becomes unreachable, and again
   * only after it has responded in between. Default: none.
   */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** A local or remote server of any revision, as a service. */
export interface Bridge {
  /** The service: pass it to `listen` of `everwire/http`, or to `serve`. It connects with the first request. */
  readonly service: Service;
  /** Live connections to the server. */
  readonly upstreams: number;
  /** How often a lost connection was made again. */
  readonly restarts: number;
  /** Calls that wait for calls of other clients on the same connection. */
  readonly waiting: number;
  /**
   * Checks that the server is reachable and responds. Connects if there is no connection. A connection to a URL is kept
   * until the first client has its own. If the server refuses a second connection, the first client uses this one.
   *
   * @throws RpcError if the server does not respond.
   */
  check(): Promise<void>;
  /** Closes all connections to the server. Requests in flight fail. Resolves when all are closed. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 100;

/**
 * Makes a service from a server. It can be served in every revision, over every transport. After a connection is lost,
 * the next request makes a new one. Requests in flight fail with an `RpcError`, unless they certainly did not run.
 *
 * @throws TypeError if the target is invalid, or a number is out of range.
 */
export function createBridge(options: BridgeOptions): Bridge {
  return new ServerBridge(options);
}

/** The key of a client: its session's signal, or its identity. For shared connections, their number. */
type ClientKey = AbortSignal | string | number;

class ServerBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #opener: Opener;
  /** Whether the server is at a URL. Such a server may accept only one session. */
  readonly #remote: boolean;
  readonly #onerror: (error: Error) => void;
  readonly #connections = new Map<ClientKey, Connection>();
  /**
   * The connection to a server without sessions. The server does not distinguish callers, so all callers without a
   * session share it.
   */
  #stateless: Connection | undefined;
  /** The connection that `check` has opened, until the first client has one. */
  #checked: Connection | undefined;
  #checking: Promise<void> | undefined;
  /** The number of shared connections. Undefined if each client has its own. */
  readonly #shared: number | undefined;
  /** The shared connection that each session uses. */
  readonly #places = new WeakMap<Session, number>();
  /** The sessions of each shared connection. */
  readonly #sessions: number[];
  readonly #closing = new Set<Promise<void>>();
  #sweep: ReturnType<typeof setInterval> | undefined;
  #closed = false;
  restarts = 0;

  constructor(options: BridgeOptions) {
    const { target, connections = 'per-session', onerror = () => {}, connectTimeout, idleTimeout = 0 } = options;
    if (typeof connections === 'number' && !(Number.isInteger(connections) && connections > 0))
      throw new TypeError('connections must be a whole number of at least 1');
    this.#options = options;
    this.#onerror = onerror;
    // The bridge's only client gets this error with its call.
    this.service = options.anonymous === 'one-client' ? this.#answer : reportOutage(onerror)(this.#answer);
    this.#opener = openerFor(target, { ...options, connectTimeout });
    this.#remote = kindOf(target) === 'url';
    this.#shared = connections === 'per-session' ? undefined : connections === 'shared' ? 1 : connections;
    this.#sessions = Array.from({ length: this.#shared ?? 0 }, () => 0);
    if (idleTimeout > 0) {
      const interval = Math.min(Math.max(1, idleTimeout / 4), MAX_TIMER);
      this.#sweep = setInterval(() => this.#closeIdle(Date.now() - idleTimeout), interval).unref();
    }
  }

  get upstreams(): number {
    return this.#all().filter(({ upstream }) => upstream.connected).length;
  }

  get waiting(): number {
    return this.#all().reduce((sum, { attribution }) => sum + (attribution?.waiting ?? 0), 0);
  }

  readonly service: Service;

  check(): Promise<void> {
    if (this.#closed) return Promise.reject(isClosed());
    if (this.#shared !== undefined) return this.#connection(0, OWN_IDENTITY, true).connect();
    return (this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const connection of this.#all()) this.#release(connection);
    await Promise.all(this.#closing);
    this.#opener.close?.();
  }

  #all(): Connection[] {
    const others = [this.#stateless, this.#checked].filter((connection) => connection !== undefined);
    return [...this.#connections.values(), ...others];
  }

  async #check(): Promise<void> {
    if (this.#checked?.upstream.connected) return;
    const connection = (this.#checked ??= this.#open(OWN_IDENTITY, this.#isMixed(undefined)));
    try {
      await connection.connect();
    } catch (error) {
      this.#release(connection);
      throw error;
    }
    // Without sessions there is no state to keep, and another process can be started at any time.
    if (this.#remote && connection.upstream.era === 'legacy') return;
    this.#release(connection);
    await Promise.all(this.#closing);
  }

  readonly #answer: Service = async (exchange) => {
    if (this.#closed) throw isClosed();
    const { caller } = exchange;
    const { session } = caller;
    if (this.#shared !== undefined) {
      return this.#connection(this.#placeOf(caller, this.#shared), OWN_IDENTITY, true).service(exchange);
    }
    const key = session && this.#options.anonymous !== 'one-client' ? session.signal : keyOf(caller);
    try {
      const connection = await this.#connected(key, caller);
      return await connection.service(exchange);
    } catch (error) {
      // No session is created. The next attempt starts from the beginning.
      if (session && exchange.method === Method.Discover && !this.#connections.get(key)?.inUse) this.#forget(key);
      throw error;
    }
  };

  /** Each client always uses the same shared connection. A new session gets the one with the fewest sessions. */
  #placeOf(caller: Caller, count: number): number {
    const { session } = caller;
    if (!session) return count === 1 ? 0 : hash(keyOf(caller)) % count;
    let place = this.#places.get(session);
    if (place !== undefined) return place;
    place = this.#sessions.indexOf(Math.min(...this.#sessions));
    this.#places.set(session, place);
    const sessions = this.#sessions;
    sessions[place] = sessions[place]! + 1;
    session.signal.addEventListener('abort', () => void (sessions[place] = sessions[place]! - 1), { once: true });
    return place;
  }

  /** The connection of a client, once the server's era is known. */
  async #connected(key: AbortSignal | string, caller: Caller): Promise<Connection> {
    const common = caller.session ? undefined : await this.#statelessConnection();
    if (common) return common;
    const mixed = !caller.session && this.#isMixed(caller.principal);
    const connection = this.#connection(key, identityOf(caller), mixed);
    if (connection.upstream.era !== undefined) return connection;
    try {
      await connection.connect();
    } catch (error) {
      return this.#takeChecked(key, connection, error);
    }
    if (this.#checked) this.#release(this.#checked);
    if (caller.session || connection.upstream.era === 'legacy') return connection;
    // Of several parallel requests, the first one has made the connection for all.
    if (this.#stateless) this.#forget(key);
    else {
      this.#connections.delete(key);
      this.#stateless = connection;
    }
    return this.#stateless;
  }

  /** Whether callers without a session that have the same principal may be different people. */
  #isMixed(principal: string | undefined): boolean {
    const { anonymous = 'strangers' } = this.#options;
    return principal === undefined && anonymous === 'strangers';
  }

  /**
   * The connection of all callers without a session, if the server has no sessions either. It may change after a
   * restart.
   */
  async #statelessConnection(): Promise<Connection | undefined> {
    const connection = this.#stateless;
    if (!connection) return undefined;
    if (!connection.upstream.connected) await connection.connect();
    if (connection.upstream.era === 'modern') return connection;
    if (this.#stateless === connection) this.#release(connection);
    return undefined;
  }

  /** If a server refuses a second connection, uses the one of `check`. @throws the error if there is none. */
  #takeChecked(key: AbortSignal | string, refused: Connection, error: unknown): Connection {
    const checked = this.#checked;
    if (!checked?.upstream.connected || this.#connections.get(key) !== refused) throw error;
    this.#checked = undefined;
    this.#connections.set(key, checked);
    this.#release(refused);
    return checked;
  }

  #connection(key: ClientKey, identity: BridgeIdentity, mixed: boolean): Connection {
    const known = this.#connections.get(key);
    if (known) return known;
    if (typeof key === 'string') this.#makeRoom();
    if (typeof key === 'object') {
      if (key.aborted) throw new RpcError(ErrorCode.InternalError, 'The session is over');
      key.addEventListener('abort', this.#sessionOver);
    }
    const connection = this.#open(identity, mixed);
    this.#connections.set(key, connection);
    return connection;
  }

  #open(identity: BridgeIdentity, mixed: boolean): Connection {
    const onreopen = (): void => void (this.restarts += 1);
    const clientOf = mixed ? this.#clientOf : undefined;
    return new Connection({ opener: this.#opener, identity, clientOf, onerror: this.#onerror, onreopen });
  }

  /** The key that all callers of one client share, on a connection with several clients. */
  readonly #clientOf: ClientOf = (caller) =>
    caller.session ?? (this.#isMixed(caller.principal) ? undefined : keyOf(caller));

  /** @throws RpcError −32000 if all connections are in use. */
  #makeRoom(): void {
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    const callers = [...this.#connections].filter(([key]) => typeof key === 'string');
    if (callers.length < maxConnections) return;
    const [idlest] = callers
      .filter(([, { requests, subscriptions }]) => requests + subscriptions === 0)
      .toSorted(([, a], [, b]) => a.lastUsed - b.lastUsed);
    if (!idlest) {
      const message = `All ${maxConnections} connections to the server are in use; try again later`;
      throw new RpcError(CONNECTION_CLOSED, message);
    }
    this.#forget(idlest[0]);
    this.#onerror(
      new Error(`More than ${maxConnections} clients use the server: the one idle the longest lost its connection`),
    );
  }

  readonly #sessionOver = ({ target }: Event): void => this.#forget(target as AbortSignal);

  #closeIdle(since: number): void {
    for (const [key, connection] of this.#connections) {
      if (connection.requests > 0 || connection.lastUsed > since) continue;
      if (typeof key === 'string' && connection.subscriptions === 0) this.#forget(key);
      else connection.upstream.rest().catch(this.#onerror);
    }
    for (const connection of [this.#stateless, this.#checked]) {
      if (connection?.requests === 0 && connection.lastUsed <= since) connection.upstream.rest().catch(this.#onerror);
    }
  }

  #forget(key: ClientKey): void {
    if (typeof key === 'object') key.removeEventListener('abort', this.#sessionOver);
    const connection = this.#connections.get(key);
    this.#connections.delete(key);
    if (connection) this.#release(connection);
  }

  /** Closes a connection and stops handing it out. */
  #release(connection: Connection): void {
    if (this.#stateless === connection) this.#stateless = undefined;
    if (this.#checked === connection) this.#checked = undefined;
    const closing: Promise<void> = connection.upstream
      .close()
      .catch(this.#onerror)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** A hash of a text, from 0 to 2³² − 1. */
function hash(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at += 1) value = (Math.imul(value, 31) + text.charCodeAt(at)) >>> 0;
  return value;
}

function isClosed(): RpcError {
  return new RpcError(CONNECTION_CLOSED, 'The bridge is closed');
}
