import { createHash } from 'node:crypto';
import { evictable } from '../base/eviction.ts';
import { ShareCounts, shareOf } from '../base/share.ts';
import { waitFor } from '../base/wait.ts';
import type { ClientOptions } from '../client/options.ts';
import type { Opener } from '../client/requester.ts';
import { kindOf, type Target } from '../client/target.ts';
import { reportTo } from '../jsonrpc/stderr-report.ts';
import { compose, type Caller, type Exchange, type Service, type Session } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { MAX_TIMER } from '../base/timer.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { State } from '../store/state.ts';
import { bindTasks } from './bound-tasks.ts';
import { Connection, type ServerDescription } from './connection.ts';
import { identityOf, keyOf, OWN_IDENTITY } from './identity.ts';
import { OutageReport } from './outage.ts';
import type { ConnectionKey } from './pins/pin.ts';
import { pinsFor } from './pins/sharing.ts';
import type { ClientOf } from './question-attribution.ts';
import { sharingOpenerFor } from './shared-attempts.ts';

/** The server behind a bridge, and how clients share connections to it. */
export interface BridgeOptions extends Pick<
  ClientOptions,
  'authorizer' | 'eraCache' | 'eras' | 'fetch' | 'headers' | 'probeTimeout' | 'proxy' | 'revision' | 'wiretap'
> {
  /**
   * The server: a URL, a command, a server in this process, or a function that makes a new transport for each
   * connection.
   */
  readonly target: Target;
  /**
   * How clients share connections to the server. `per-session`: each client has its own connection. `shared`: all
   * clients share one. A number: all clients share this many connections, and each client always uses the same one.
   * Default `per-session`.
   *
   * A client is a session. Without sessions (2026-07-28), all callers of one principal with the same declared name,
   * version and capabilities are one client. Calls of one client run in parallel, and it gets every question on its
   * connection. On a shared connection, the bridge attributes each question to a client. For this, calls of tools that
   * ask questions run one at a time.
   */
  readonly connections?: 'per-session' | 'shared' | number | undefined;
  /**
   * How callers without a principal are treated. `one-client`: all of them are one client, as on stdio. `same-user`:
   * they belong to one user, and each program is a client, as on loopback. `different-users`: they may be different
   * people, so each question is attributed to a call before it is passed on. Default `different-users`.
   */
  readonly anonymous?: 'one-client' | 'same-user' | 'different-users' | undefined;
  /** Milliseconds that connecting may take. Default 60 000. */
  readonly connectTimeout?: number | undefined;
  /**
   * Milliseconds after which a connection without requests is closed. The next request makes a new one, and open
   * subscriptions continue on it. The server's state for the old connection is lost. Default 0: never.
   */
  readonly idleTimeout?: number | undefined;
  /**
   * The most connections for clients without a session. Above that, the connection that was idle the longest is closed
   * and `onerror` is called. If none is idle, the request is refused. A principal with more than half of the
   * connections loses one to a client of another principal, even if it is in use. A principal with half or more never
   * takes a connection of others. Default 100.
   */
  readonly maxConnections?: number | undefined;
  /**
   * A secret of at least 16 bytes. It binds the ids of tasks to the principals that got them, so that no other caller
   * can use them. Bridges that serve the same callers must share it. If the target is neither a URL nor a command, give
   * each server its own key. Default: a random key of this bridge.
   */
  readonly stateKey?: string | Uint8Array | undefined;
  /**
   * The state of several processes that serve the same clients. If it has a bus and claims, all of them share one connection for
   * each client (`per-session`) to a server with a handshake, and pass requests on. Default: each has its own connections.
   */
  readonly state?: Pick<State, 'node' | 'isAlive' | 'bus' | 'claims'> | undefined;
  /** Names the server in the state. The same in all processes, and different for each server. Default `server`. */
  readonly name?: string | undefined;
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
  /** How many times a lost connection was reopened. */
  readonly restarts: number;
  /** Calls that wait for calls of other clients on the same connection. */
  readonly waiting: number;
  /** Clients whose connection is in this process, on behalf of all processes. */
  readonly pins: number;
  /** How many requests were passed on to other processes. */
  readonly forwarded: number;
  /**
   * Checks that the server is reachable and responds. Connects if there is no connection. A connection to a URL is kept
   * until the first client has its own. If the server refuses a second connection, the first client uses this one.
   *
   * @throws RpcError if the server does not respond.
   */
  check(): Promise<void>;
  /**
   * Checks the server, and asks what it is. If it cannot be reached, `onerror` is not called for that again.
   *
   * @throws RpcError if the server does not respond.
   */
  describe(): Promise<ServerDescription>;
  /**
   * Lets requests finish, and closes the connections of clients, so that other processes can open them again.
   *
   * @param timeout milliseconds after which unfinished requests are ended. Default 5 000.
   */
  drain(timeout?: number): Promise<void>;
  /** Closes all connections to the server. Requests in flight fail. Resolves when all are closed. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 100;

/**
 * Makes a service from a server. It can be served in every revision, over every transport. After a connection is lost,
 * the next request opens a new one. Requests in flight fail with an `RpcError`, unless they certainly did not run.
 *
 * @throws TypeError if the target is invalid, or a number is out of range.
 */
export function createBridge(options: BridgeOptions): Bridge {
  return new ServerBridge(options);
}

/** The key of a client: the signal of its session or pin, or its identity. For shared connections, their number. */
type ClientKey = ConnectionKey | number;

class ServerBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #opener: Opener;
  /** Whether the server is at a URL. Such a server may accept only one session. */
  readonly #remote: boolean;
  readonly #onerror: (error: Error) => void;
  readonly #outage: OutageReport;
  readonly #connections = new Map<ClientKey, Connection>();
  /** The connection that `check` has opened, until the first client has one. */
  #checked: Connection | undefined;
  #checking: Promise<ServerDescription | void> | undefined;
  /** The number of shared connections. Undefined if each client has its own. */
  readonly #shared: number | undefined;
  /** The shared connection that each session uses. */
  readonly #places = new WeakMap<Session, number>();
  /** The sessions of each shared connection. */
  readonly #sessions: number[];
  readonly #closing = new Set<Promise<void>>();
  /** Set if each client has one connection over several processes. */
  readonly #pins: ReturnType<typeof pinsFor>;
  /** The era of the newest connection for callers of each era. A server may speak both. */
  readonly #eras = new Map<string, Connection['era']>();
  #sweep: ReturnType<typeof setInterval> | undefined;
  #closed = false;
  restarts = 0;

  constructor(options: BridgeOptions) {
    const { target, connections = 'per-session', connectTimeout, idleTimeout = 0 } = options;
    const onerror = reportTo(options.onerror);
    if (typeof connections === 'number' && !(Number.isInteger(connections) && connections > 0))
      throw new TypeError('connections must be a whole number of at least 1');
    this.#options = options;
    this.#onerror = onerror;
    this.#outage = new OutageReport(onerror);
    const bind = bindTasks({ target, stateKey: options.stateKey, shared: connections !== 'per-session' });
    // The only client gets this error with its call, so it need not be reported.
    const report = options.anonymous === 'one-client' ? [] : [this.#outage.middleware];
    this.service = compose(this.#answer, bind, ...report);
    this.#pins = pinsFor(options, {
      serve: (exchange, key) => this.#outage.middleware((each) => this.#serve(each, key))(exchange),
      end: (client) => this.#forget(client),
      // A command keeps tasks and calls that wait for answers in its process, whatever it speaks.
      isStateless: ({ revision }) => this.#remote && this.#eras.get(REVISIONS[revision].era) === 'modern',
      onerror,
    });
    this.#opener = sharingOpenerFor(target, { ...options, connectTimeout });
    this.#remote = kindOf(target) === 'url';
    this.#shared = connections === 'per-session' ? undefined : connections === 'shared' ? 1 : connections;
    this.#sessions = Array.from({ length: this.#shared ?? 0 }, () => 0);
    if (idleTimeout > 0) {
      const interval = Math.min(Math.max(1, idleTimeout / 4), MAX_TIMER);
      this.#sweep = setInterval(() => this.#closeIdle(performance.now() - idleTimeout), interval).unref();
    }
  }

  get upstreams(): number {
    return this.#all().filter(({ connected }) => connected).length;
  }

  get waiting(): number {
    return this.#all().reduce((sum, { attribution }) => sum + (attribution?.waiting ?? 0), 0);
  }

  get pins(): number {
    return this.#pins?.size ?? 0;
  }

  get forwarded(): number {
    return this.#pins?.forwarded ?? 0;
  }

  readonly service: Service;

  async check(): Promise<void> {
    if (this.#closed) throw closedError();
    if (this.#shared !== undefined) return this.#connection(0).connect();
    await (this.#checking ??= this.#checkWith((connection) => connection.connect()).finally(() => {
      this.#checking = undefined;
    }));
  }

  async describe(): Promise<ServerDescription> {
    if (this.#closed) throw closedError();
    try {
      return await this.#describe();
    } catch (error) {
      // The caller gets it, and would get it again with the next request.
      this.#outage.known(error);
      throw error;
    }
  }

  async #describe(): Promise<ServerDescription> {
    if (this.#shared !== undefined) return this.#connection(0).describe();
    await this.#checking;
    const described = this.#checkWith((connection) => connection.describe());
    this.#checking = described.finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
    return described;
  }

  async drain(timeout = 5000): Promise<void> {
    await this.#pins?.drain(timeout);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const key of this.#connections.keys()) this.#forget(key);
    if (this.#checked) void this.#release(this.#checked);
    await Promise.all(this.#closing);
    await this.#pins?.close();
    this.#opener.close?.();
  }

  #all(): Connection[] {
    return [...this.#connections.values(), ...(this.#checked ? [this.#checked] : [])];
  }

  async #checkWith<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = (this.#checked ??= this.#open());
    let result: T;
    try {
      result = await work(connection);
      this.#eras.set('modern', connection.era);
    } catch (error) {
      if (connection === this.#checked) void this.#release(connection);
      throw error;
    }
    // A client took it over meanwhile.
    if (connection !== this.#checked) return result;
    // Without sessions there is no state to keep, and another process can be started at any time.
    if (this.#remote && connection.era === 'legacy' && !this.#hasClient()) return result;
    void this.#release(connection);
    await Promise.all(this.#closing);
    return result;
  }

  readonly #answer: Service = async (exchange) => {
    if (this.#closed) throw closedError();
    const { caller } = exchange;
    const { session } = caller;
    if (this.#shared !== undefined) {
      return this.#connection(this.#placeOf(caller, this.#shared)).service(exchange);
    }
    const key = session && this.#options.anonymous !== 'one-client' ? session.signal : keyOf(caller);
    return this.#pins ? this.#pins.answer(exchange, key) : this.#serve(exchange, key);
  };

  /** Serves a request on the connection of its client at this process. */
  readonly #serve = async (exchange: Exchange, key: ConnectionKey): Promise<JsonObject> => {
    if (this.#closed) throw closedError();
    const { caller } = exchange;
    try {
      let connection = this.#connection(key, caller);
      if (connection.era === undefined) connection = await waitFor(this.#connect(key, connection), exchange);
      this.#eras.set(REVISIONS[caller.revision].era, connection.era);
      return await connection.service(exchange);
    } catch (error) {
      // No session or no connection was made, so the next attempt starts from the beginning.
      const begins = caller.session ? exchange.method === Method.Discover : !this.#connections.has(key);
      if (begins && !this.#connections.get(key)?.inUse) this.#forget(key);
      throw error;
    }
  };

  /** Each client always uses the same shared connection. A new session gets the one with the fewest sessions. */
  #placeOf(caller: Caller, count: number): number {
    const { session } = caller;
    if (!session) return count === 1 ? 0 : numberFor(keyOf(caller)) % count;
    let place = this.#places.get(session);
    if (place !== undefined) return place;
    place = this.#sessions.indexOf(Math.min(...this.#sessions));
    this.#places.set(session, place);
    const sessions = this.#sessions;
    sessions[place] = sessions[place]! + 1;
    session.signal.addEventListener('abort', () => void (sessions[place] = sessions[place]! - 1), { once: true });
    return place;
  }

  /** Connects a client for the first time. Returns the connection that it has then. */
  async #connect(key: AbortSignal | string, connection: Connection): Promise<Connection> {
    try {
      await connection.connect();
    } catch (error) {
      return this.#takeChecked(key, connection, error);
    }
    // A check that is still running closes its connection itself.
    if (this.#checked && !this.#checking) void this.#release(this.#checked);
    return connection;
  }

  #hasClient(): boolean {
    return [...this.#connections.values()].some(({ era }) => era !== undefined);
  }

  /** Whether callers without a session that have the same principal may be different people. */
  #isMixed(principal: string | undefined): boolean {
    const { anonymous = 'different-users' } = this.#options;
    return principal === undefined && anonymous === 'different-users';
  }

  /** If a server refuses a second connection, uses the one of `check`. @throws the error if there is none. */
  #takeChecked(key: AbortSignal | string, refused: Connection, error: unknown): Connection {
    const checked = this.#checked;
    if (!checked?.connected || this.#connections.get(key) !== refused) throw error;
    this.#checked = undefined;
    checked.share = refused.share;
    this.#connections.set(key, checked);
    void this.#release(refused);
    return checked;
  }

  /** @param caller that the connection is for. Undefined for a shared one. */
  #connection(key: ClientKey, caller?: Caller): Connection {
    const known = this.#connections.get(key);
    if (known) return known;
    if (typeof key === 'string') this.#makeRoom(caller?.principal);
    if (typeof key === 'object') {
      if (key.aborted) throw new RpcError(ErrorCode.InternalError, 'The session has ended');
      key.addEventListener('abort', this.#sessionOver);
    }
    const connection = this.#open(caller, key);
    this.#connections.set(key, connection);
    return connection;
  }

  #open(caller?: Caller, key: ClientKey = 0): Connection {
    const onreopen = (): void => void (this.restarts += 1);
    const identity = caller ? identityOf(caller) : OWN_IDENTITY;
    const mixed = this.#shared !== undefined || (!caller?.session && this.#isMixed(caller?.principal));
    const clientOf = mixed ? this.#clientOf : undefined;
    const { principal } = caller ?? {};
    const opener = { ...this.#opener, open: this.#openWithRoom };
    const keeper = typeof key === 'number' ? undefined : this.#pins?.keeperOf(key);
    return new Connection({ opener, identity, clientOf, principal, keeper, onerror: this.#onerror, onreopen });
  }

  /** A closing connection still has its process. If the limit would be exceeded, a new connection waits for it. */
  readonly #openWithRoom: Opener['open'] = async (identity, signal) => {
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    if (this.#connections.size + this.#closing.size > maxConnections)
      await waitFor(Promise.all(this.#closing), { signal });
    return this.#opener.open(identity, signal);
  };

  /** The client that a caller belongs to, on a connection with several clients. */
  readonly #clientOf: ClientOf = (caller) =>
    caller.session ?? (this.#isMixed(caller.principal) ? undefined : keyOf(caller));

  /** @throws RpcError −32000 if all connections are in use. */
  #makeRoom(principal: string | undefined): void {
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    const held = [...this.#connections].flatMap(([key, connection]) =>
      typeof key === 'string' ? [{ key, ...connection.holding }] : [],
    );
    if (held.length < maxConnections) return;
    const counts = new ShareCounts();
    for (const { share } of held) counts.add(share);
    const newcomer = shareOf({ principal, address: undefined });
    const evicted = evictable(held, { places: maxConnections, counts, newcomer, unusedSince: Infinity });
    if (!evicted) {
      const message = `All ${maxConnections} connections to the server are in use; try again later`;
      throw new RpcError(CONNECTION_CLOSED, message);
    }
    this.#forget(evicted.key);
    this.#onerror(
      new Error(
        `More than ${maxConnections} clients use the server: the connection that was idle the longest was closed`,
      ),
    );
  }

  readonly #sessionOver = ({ target }: Event): void => this.#forget(target as AbortSignal);

  #closeIdle(since: number): void {
    for (const [key, connection] of this.#connections) {
      if (connection.requests > 0 || connection.lastUsed > since) continue;
      if (typeof key === 'string' && connection.subscriptions === 0) this.#forget(key);
      else connection.rest().catch(this.#onerror);
    }
    const checked = this.#checked;
    if (checked?.requests === 0 && checked.lastUsed <= since) checked.rest().catch(this.#onerror);
  }

  #forget(key: ClientKey): void {
    if (typeof key === 'object') key.removeEventListener('abort', this.#sessionOver);
    const connection = this.#connections.get(key);
    this.#connections.delete(key);
    const closed = connection && this.#release(connection);
    if (typeof key !== 'number') this.#pins?.ended(key, closed ?? Promise.resolve());
  }

  /** Closes a connection. No client gets it any more. */
  #release(connection: Connection): Promise<void> {
    if (this.#checked === connection) this.#checked = undefined;
    const closing: Promise<void> = connection
      .close()
      .catch(this.#onerror)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    return closing;
  }
}

/** Always the same number for a client, from 0 to 2³² − 1. */
function numberFor(client: string): number {
  return createHash('sha256').update(client).digest().readUInt32BE();
}

function closedError(): RpcError {
  return new RpcError(CONNECTION_CLOSED, 'The bridge is closed');
}
