import { openerFor } from '../client/open.ts';
import type { ClientOptions } from '../client/options.ts';
import type { Opener } from '../client/requester.ts';
import { kindOf, type Target } from '../client/target.ts';
import type { Caller, Service, Session } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { MAX_TIMER } from '../util/timer.ts';
import { Method } from '../protocol/methods.ts';
import { Connection } from './connection.ts';
import { identityOf, keyOf, OWN_IDENTITY, type BridgeIdentity } from './identity.ts';
import { reportOutage } from './outage.ts';
import type { ClientOf } from './question-attribution.ts';

/** What is behind a bridge, how it is spoken to, and for whom. */
export interface BridgeOptions extends Pick<
  ClientOptions,
  'authorizer' | 'eraCache' | 'eras' | 'fetch' | 'headers' | 'probeTimeout' | 'revision'
> {
  /** The server: a URL, a command, a server of this process, or a function that makes a transport of its own for each connection. */
  readonly target: Target;
  /**
   * Who has a connection to a server with a handshake. `per-session`: each client one of its own. `shared`: all clients one.
   * A number: all clients so many; each client keeps to one of them. Default `per-session`.
   *
   * A client is a session; without sessions (2026-07-28) it is all callers of one principal that run the same program, by
   * the name, version and capabilities that they declare. Calls of one client run in parallel, and any question of the server
   * on its connection is put to it. On a connection that several clients share, questions are attributed, and calls of tools
   * that ask take turns for that.
   */
  readonly connections?: 'per-session' | 'shared' | number | undefined;
  /**
   * Who the callers without a principal are. `one-client`: all of them are one and the same, as on stdio. `same-user`: one
   * user, for whom each program is a client, as on loopback. `strangers`: anybody, so that questions are attributed on their
   * connections too. Default `strangers`.
   */
  readonly anonymous?: 'one-client' | 'same-user' | 'strangers' | undefined;
  /** Milliseconds that it may take to connect. Default 60 000. */
  readonly connectTimeout?: number | undefined;
  /**
   * Milliseconds after which a connection is closed that no request came for; the next request makes another, and whoever
   * listens goes on with that. What the server kept for the connection is lost. Default: 0, for never.
   */
  readonly idleTimeout?: number | undefined;
  /**
   * Connections for clients without a session, at the most. Beyond them the one that has been idle the longest is closed,
   * which `onerror` hears; where none is idle, the request is refused. Default 100.
   */
  readonly maxConnections?: number | undefined;
  /** Hears of what no caller can be told, and once that the server cannot be reached, until it answers again. Default: nobody. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** A server, wherever it is and whatever it speaks, as a service. */
export interface Bridge {
  /** The server: give it to `listen` of `everwire/http`, or to `serve`. It connects when it is first needed. */
  readonly service: Service;
  /** Live connections to the server. */
  readonly upstreams: number;
  /** How often a connection that was lost was made again. */
  readonly restarts: number;
  /** Calls that wait for those of other clients on the same connection. */
  readonly waiting: number;
  /**
   * Finds out whether the server is there and answers. Connects where no connection stands. A connection to a URL is kept
   * until the first client has its own, and becomes that of the first client where the server refuses a second one.
   *
   * @throws RpcError where the server does not answer.
   */
  check(): Promise<void>;
  /** Closes all connections to the server; what is in flight fails. Resolves when they are gone. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 100;

/**
 * Makes one service of a server: it is `serve`d to whoever comes, in whichever revision over whichever transport. A
 * connection that is lost is made again for the next request; what was in flight fails with an `RpcError`, unless it
 * certainly did not run.
 *
 * @throws TypeError where the target is none, or a number is out of its bounds.
 */
export function createBridge(options: BridgeOptions): Bridge {
  return new ServerBridge(options);
}

/** What tells a client from others: the signal of its session, or what it says of itself. For shared connections their number. */
type ClientKey = AbortSignal | string | number;

class ServerBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #opener: Opener;
  /** Whether the server is at a URL: it may have room for one session only. */
  readonly #remote: boolean;
  readonly #onerror: (error: Error) => void;
  readonly #connections = new Map<ClientKey, Connection>();
  /** Of a server without sessions: it knows none of its callers, so all who have no session share it. */
  #stateless: Connection | undefined;
  /** What `check` has opened, until the first client has a connection. */
  #checked: Connection | undefined;
  #checking: Promise<void> | undefined;
  /** How many shared connections there are; undefined where each client has its own. */
  readonly #shared: number | undefined;
  /** Which of the shared connections a session keeps to. */
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
    // The one client of a bridge hears of it with its call.
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
    // Without a session nothing would be kept, and another process can be started at any time.
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
      // No session comes about; the next attempt starts from nothing.
      if (session && exchange.method === Method.Discover && !this.#connections.get(key)?.inUse) this.#forget(key);
      throw error;
    }
  };

  /** Each client keeps to one of the shared connections: a session to the one with the fewest when it came. */
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

  /** The connection of a client, after it is known which era the server is of. */
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
    // Of several that came at once, the first has made the one for all.
    if (this.#stateless) this.#forget(key);
    else {
      this.#connections.delete(key);
      this.#stateless = connection;
    }
    return this.#stateless;
  }

  /** Whether callers without a session who show the same principal may be different people. */
  #isMixed(principal: string | undefined): boolean {
    const { anonymous = 'strangers' } = this.#options;
    return principal === undefined && anonymous === 'strangers';
  }

  /** The connection of all who have no session, where the server has none either. It may be another after a restart. */
  async #statelessConnection(): Promise<Connection | undefined> {
    const connection = this.#stateless;
    if (!connection) return undefined;
    if (!connection.upstream.connected) await connection.connect();
    if (connection.upstream.era === 'modern') return connection;
    if (this.#stateless === connection) this.#release(connection);
    return undefined;
  }

  /** A server that takes no second connection is left with the one of `check`. @throws the error where there is none. */
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

  /** What a caller has in common with all callers of its client, on a connection that several clients share. */
  readonly #clientOf: ClientOf = (caller) =>
    caller.session ?? (this.#isMixed(caller.principal) ? undefined : keyOf(caller));

  /** @throws RpcError −32000 where all connections are needed. */
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

  /** Closes a connection; nobody is given it any more. */
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

/** The same number for the same text, from 0 to 2³² − 1. */
function hash(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at += 1) value = (Math.imul(value, 31) + text.charCodeAt(at)) >>> 0;
  return value;
}

function isClosed(): RpcError {
  return new RpcError(CONNECTION_CLOSED, 'The bridge is closed');
}
