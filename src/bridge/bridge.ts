import { openerFor } from '../client/open.ts';
import type { ClientOptions } from '../client/options.ts';
import type { Opener } from '../client/requester.ts';
import type { Target } from '../client/target.ts';
import { isAborted } from '../core/abortable.ts';
import type { Caller, Exchange, Service, Session } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { MAX_TIMER } from '../jsonrpc/timer.ts';
import { canBeAsked, identityOf, keyOf, OWN_IDENTITY, type BridgeIdentity } from './identity.ts';
import { Pool, type PoolOptions } from './pool.ts';
import { EraChanged } from './upstream.ts';

/** What is behind a bridge, how it is spoken to, and for whom. */
export interface BridgeOptions extends Pick<
  ClientOptions,
  'authorizer' | 'eras' | 'fetch' | 'headers' | 'http' | 'probeTimeout' | 'revision' | 'verdicts'
> {
  /** The server: a URL, a command, a server of this process, or a function that makes a transport of its own for each connection. */
  readonly target: Target;
  /**
   * For whom a connection to a server with a handshake is. `per-session`: for one session; callers without sessions
   * (2026-07-28) share some where they are one principal, one program and can be asked the same things. `shared`: one for
   * all. A number: so many for all. Default `per-session`.
   *
   * Calls that share a connection are told apart when the server asks something: those of tools that ask go one after the
   * other, but do not wait for one another's answers.
   */
  readonly connections?: 'per-session' | 'shared' | number | undefined;
  /** Milliseconds that it may take to connect. Default 60 000. */
  readonly connectTimeout?: number | undefined;
  /** Milliseconds after which a connection that callers without a session used, and nobody needs, is closed; 0: never. Default 300 000. */
  readonly idleTimeout?: number | undefined;
  /**
   * Milliseconds after which a connection of one session, or one for all, is closed where nothing was asked on it; the next
   * request makes another. What the server kept for it is lost then, and what it would have said meanwhile is not heard:
   * who listens is told that all may have changed. Default: 0, for never.
   */
  readonly sessionIdleTimeout?: number | undefined;
  /** Connections for callers without a session, at the most; the one that is idle the longest goes first. Default 100. */
  readonly maxConnections?: number | undefined;
  /** Hears of what no caller can be told. Default: nobody. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** A server, wherever it is and whatever it speaks, as a service. */
export interface Bridge {
  /** The server, to be served with `serve` or `createInbound`. Connects when it is first needed. */
  readonly service: Service;
  /** Live connections to the server. */
  readonly upstreams: number;
  /** How often a connection that was lost was made again. */
  readonly restarts: number;
  /** Calls that wait for others on the same connection. */
  readonly waiting: number;
  /**
   * Connects once, to see that the server is there and answers.
   *
   * @throws RpcError where it does not.
   */
  check(): Promise<void>;
  /** Closes all connections to the server; what is in flight fails. Resolves when they are gone. */
  close(): Promise<void>;
}

/** Connections for the same callers without a session. */
const MAX_OF_ONE = 4;
const IDLE_TIMEOUT = 300_000;
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

interface SessionPool {
  readonly pool: Pool;
  /** Called when the session is over. */
  readonly end: () => void;
}

class ServerBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #opener: Opener;
  readonly #onerror: (error: Error) => void;
  /** One for all, where that is wanted. */
  readonly #common: Pool | undefined;
  /** A server without sessions knows none of its callers: they need not be kept apart. */
  #stateless: Pool | undefined;
  readonly #ofSessions = new Map<Session, SessionPool>();
  readonly #ofCallers = new Map<string, Pool>();
  /** Those on their way out, and those of `check`. */
  readonly #closing = new Set<Promise<void>>();
  readonly #probes = new Set<Pool>();
  #sweep: ReturnType<typeof setInterval> | undefined;
  #rest: ReturnType<typeof setInterval> | undefined;
  #closed = false;
  restarts = 0;

  constructor(options: BridgeOptions) {
    const { target, connections = 'per-session', onerror = () => {}, connectTimeout, sessionIdleTimeout = 0 } = options;
    if (typeof connections === 'number' && !(Number.isInteger(connections) && connections > 0))
      throw new TypeError('connections must be a whole number of at least 1');
    this.#options = options;
    this.#onerror = onerror;
    this.#opener = openerFor(target, { ...options, connectTimeout });
    if (connections !== 'per-session') {
      this.#common = this.#pool(OWN_IDENTITY, connections === 'shared' ? 1 : connections, 'strangers');
    }
    if (sessionIdleTimeout > 0) this.#rest = lookingAgain(() => this.#restIdle(sessionIdleTimeout), sessionIdleTimeout);
  }

  get upstreams(): number {
    return this.#pools().reduce((sum, pool) => sum + pool.connected, 0);
  }

  get waiting(): number {
    return this.#pools().reduce((sum, pool) => sum + pool.waiting, 0);
  }

  readonly service: Service = (exchange) => {
    if (this.#closed) return Promise.reject(isClosed());
    const { session } = exchange.caller;
    if (this.#common) return twice(this.#common.service, exchange);
    return session ? this.#forSession(exchange, session) : this.#forCaller(exchange);
  };

  async check(): Promise<void> {
    if (this.#closed) throw isClosed();
    if (this.#common) return this.#common.connect();
    const probe = this.#pool(OWN_IDENTITY, 1, 'one');
    this.#probes.add(probe);
    try {
      await probe.connect();
    } finally {
      this.#probes.delete(probe);
      await probe.close();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    clearInterval(this.#rest);
    const pools = [...this.#pools(), ...this.#probes];
    this.#ofSessions.clear();
    this.#ofCallers.clear();
    this.#stateless = undefined;
    await Promise.all([...this.#closing, ...pools.map((pool) => pool.close())]);
  }

  #pools(): Pool[] {
    const single = [this.#common, this.#stateless].filter((pool) => pool !== undefined);
    const ofSessions = [...this.#ofSessions.values()].map(({ pool }) => pool);
    return [...single, ...ofSessions, ...this.#ofCallers.values()];
  }

  #pool(identity: BridgeIdentity, max: number, sharers: PoolOptions['sharers'], hasRoom?: () => boolean): Pool {
    const onreopen = (): void => void (this.restarts += 1);
    return new Pool({ opener: this.#opener, identity, max, sharers, hasRoom, onerror: this.#onerror, onreopen });
  }

  async #forSession(exchange: Exchange, session: Session): Promise<JsonObject> {
    const pool = this.#ofSessions.get(session)?.pool ?? this.#addSession(exchange.caller, session);
    try {
      return await twice(pool.service, exchange);
    } catch (error) {
      // No session comes about; the next attempt starts from nothing.
      if (exchange.method === 'server/discover') this.#removeSession(session);
      throw error;
    }
  }

  #addSession(caller: Caller, session: Session): Pool {
    if (session.signal.aborted) throw new RpcError(ErrorCode.InternalError, 'The session is over');
    const pool = this.#pool(identityOf(caller), 1, 'one');
    const end = (): void => this.#removeSession(session);
    this.#ofSessions.set(session, { pool, end });
    session.signal.addEventListener('abort', end);
    return pool;
  }

  #removeSession(session: Session): void {
    const of = this.#ofSessions.get(session);
    if (!of) return;
    this.#ofSessions.delete(session);
    session.signal.removeEventListener('abort', of.end);
    this.#release(of.pool.close());
  }

  #forCaller(exchange: Exchange): Promise<JsonObject> {
    return twice(this.#throughPool, exchange);
  }

  readonly #throughPool: Service = async (exchange) => {
    if (this.#stateless) {
      // It may be another after a restart.
      if (!this.#stateless.ready) await this.#stateless.connect();
      if (this.#stateless?.era === 'modern') return this.#stateless.service(exchange);
      const former = this.#stateless;
      this.#stateless = undefined;
      if (former) this.#release(former.close());
    }
    const pool = this.#callerPool(exchange.caller);
    if (pool.era === undefined) await pool.connect();
    if (pool.era === 'modern' && !this.#stateless) {
      this.#stateless = pool;
      for (const [key, each] of this.#ofCallers) if (each === pool) this.#ofCallers.delete(key);
    }
    return pool.service(exchange);
  };

  #callerPool(caller: Caller): Pool {
    const key = keyOf(caller);
    const known = this.#ofCallers.get(key);
    if (known) return known;
    this.#makeRoom();
    const asked = canBeAsked(caller.capabilities);
    const pool = this.#pool(identityOf(caller), asked ? MAX_OF_ONE : 1, asked ? 'alike' : 'one', () => this.#hasRoom);
    this.#ofCallers.set(key, pool);
    const { idleTimeout = IDLE_TIMEOUT } = this.#options;
    if (idleTimeout > 0) this.#sweep ??= lookingAgain(() => this.#closeIdle(idleTimeout), idleTimeout);
    return pool;
  }

  /** Whether callers without a session may have another connection. */
  get #hasRoom(): boolean {
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    let connections = 0;
    for (const { size } of this.#ofCallers.values()) connections += Math.max(1, size);
    return connections < maxConnections;
  }

  /** @throws RpcError −32000 where all connections are needed. */
  #makeRoom(): void {
    if (this.#hasRoom) return;
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    const [idlest] = [...this.#ofCallers]
      .filter(([, pool]) => !pool.busy)
      .toSorted(([, a], [, b]) => a.lastUsed - b.lastUsed);
    if (!idlest) {
      const message = `All ${maxConnections} connections to the server are in use; try again later`;
      throw new RpcError(CONNECTION_CLOSED, message);
    }
    const [key, pool] = idlest;
    this.#ofCallers.delete(key);
    this.#release(pool.close());
  }

  #restIdle(idleTimeout: number): void {
    const since = Date.now() - idleTimeout;
    for (const { pool } of this.#ofSessions.values()) this.#release(pool.rest(since));
    if (this.#common) this.#release(this.#common.rest(since));
  }

  #closeIdle(idleTimeout: number): void {
    const since = Date.now() - idleTimeout;
    for (const [key, pool] of this.#ofCallers) {
      this.#release(pool.shrink(since));
      if (pool.size === 0) this.#ofCallers.delete(key);
    }
    if (this.#ofCallers.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  #release(closed: Promise<void>): void {
    const closing: Promise<void> = closed.catch(this.#onerror).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** What did not run because the server is of another era by now is made again, as that era has it. */
function twice(service: Service, exchange: Exchange): Promise<JsonObject> {
  return service(exchange).catch((error: unknown) => {
    if (!(error instanceof EraChanged) || isAborted(exchange)) throw error;
    return service(exchange);
  });
}

function isClosed(): RpcError {
  return new RpcError(CONNECTION_CLOSED, 'The bridge is closed');
}

/** Looks, a few times within what is waited for, for what has been idle for that long. */
function lookingAgain(look: () => void, idleTimeout: number): ReturnType<typeof setInterval> {
  return setInterval(look, Math.min(Math.max(1, idleTimeout / 4), MAX_TIMER)).unref();
}
