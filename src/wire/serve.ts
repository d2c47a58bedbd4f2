import { reportTo } from '../jsonrpc/stderr-report.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import { allInTurns } from '../base/all-in-turns.ts';
import { FewPerTurn } from '../base/few-per-turn.ts';
import { MAX_TIMER } from '../base/timer.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS } from '../protocol/revisions.ts';
import type { Implementation } from '../protocol/types.ts';
import { reachOf } from '../store/bus.ts';
import type { State } from '../store/state.ts';
import type { RequestListener, Transport } from '../transport/transport.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { TotalLoad } from './total-load.ts';
import { ModernInbound } from './modern/inbound/inbound.ts';
import { RerunByAnnotations, type SafeToRerun } from './rerun.ts';

/** Which revisions are served, and the limits of suspended requests and subscriptions. */
export interface InboundOptions {
  /** Receives every error that cannot be reported to a caller. Default: none. */
  readonly onerror?: ((error: Error) => void) | undefined;
  /**
   * How long a question to the client waits for an answer or progress. Milliseconds, default 600 000; 0 for no limit. A
   * question of 2026-07-28 waits at most 2³¹ − 1 ms (24.8 days).
   */
  readonly askTimeout?: number | undefined;
  /** The longest time for a question, whatever its progress. Milliseconds, default 3 600 000; 0 for no limit. */
  readonly maxAskTimeout?: number | undefined;
  /**
   * Which revisions are served: those with a handshake (`legacy`: 2024-11-05 to 2025-11-25), the one without (`modern`:
   * 2026-07-28), or both. Default `both`.
   */
  readonly eras?: 'both' | 'legacy' | 'modern' | undefined;
  /** The server information in each result of 2026-07-28. Default: what the service itself returns. */
  readonly serverInfo?: Implementation | undefined;
  /**
   * A secret of at least 16 bytes that seals what a caller carries from one round of a request to the next (2026-07-28,
   * patterns/mrtr). Processes that serve the same callers must share it. Default: a random one of this process. With a key,
   * the sessions of an `McpServer` survive a restart (`sessionKey` of `createHttpHandler`).
   */
  readonly stateKey?: string | Uint8Array | undefined;
  /**
   * Whether a `requestState` that the service returns is sealed too, so that it works only for the principal that got it.
   * Default true. False passes it on as it is. For a bridge, the state then outlives the process without a `stateKey`.
   */
  readonly sealState?: boolean | undefined;
  /**
   * Which requests may run again from the start, with the answers so far, if the process that asked their caller has
   * ended. `by-annotations`: every request except `tools/call`, and `tools/call` of a tool with `readOnlyHint` or
   * `idempotentHint` in `tools/list`. Needs a `stateKey` that outlives the process. Default: none.
   */
  readonly safeToRerun?: 'by-annotations' | ((request: Pick<Exchange, 'method' | 'params'>) => boolean) | undefined;
  /**
   * The most suspended requests: those of 2026-07-28 that wait for their callers to return with answers
   * (patterns/mrtr). Default 1000. At the limit, the oldest one ends if it has waited for a minute. Otherwise the
   * oldest one of the caller that has the most is dropped, if a caller with fewer needs the room. Callers are counted by
   * principal, or else by address.
   */
  readonly maxSuspended?: number | undefined;
  /** The most suspended requests of one principal. Default 100. */
  readonly maxSuspendedPerPrincipal?: number | undefined;
  /**
   * The most open subscriptions of 2026-07-28. Default 15 000. Callers without a principal may have seven eighths of them
   * from one address.
   */
  readonly maxSubscriptions?: number | undefined;
  /** The most open subscriptions of one principal. Default 1000. */
  readonly maxSubscriptionsPerPrincipal?: number | undefined;
  /**
   * The state that several processes use, if they do. With its bus and a `stateKey`, a caller may return with answers to
   * another process than the one that asked: the answers are passed on. Default: they must reach the same process.
   */
  readonly state?: Partial<Pick<State, 'node' | 'isAlive' | 'bus'>> | undefined;
}

/** A service that accepts any number of clients. */
export interface Inbound {
  /**
   * Serves one client over one connection. Sets the transport's callbacks and starts it. Everything that belongs to the
   * connection is released when it closes.
   *
   * @throws what the transport's `start` throws.
   */
  connect(transport: Transport): Promise<void>;
  /** For `createHttpHandler`: accepts new sessions. Undefined if handshakes are not served. */
  readonly onsession: ((transport: Transport) => Promise<void>) | undefined;
  /** For `createHttpHandler`: accepts requests without a session. Undefined if these are not served. */
  readonly onrequest: RequestListener | undefined;
  /** The number of suspended requests: those of 2026-07-28 that wait for their callers to return with answers. */
  readonly suspended: number;
  /**
   * Ends subscriptions, lets requests in flight finish, and closes all connections.
   *
   * @param timeout milliseconds after which unfinished requests are ended. Default 5 000.
   */
  close(timeout?: number): Promise<void>;
}

/** Makes a service available to clients of every revision. */
export function createInbound(service: Service, options: InboundOptions = {}): Inbound {
  const { safeToRerun } = options;
  if (safeToRerun !== 'by-annotations') return new ServiceInbound(service, { ...options, safeToRerun });
  const learning = new RerunByAnnotations(service);
  return new ServiceInbound(learning.service, { ...options, safeToRerun: learning.safeToRerun });
}

/**
 * Serves one client over one connection. Everything that belongs to it is released when it closes, questions included.
 */
export async function serve(service: Service, transport: Transport, options: InboundOptions = {}): Promise<void> {
  const inbound = createInbound(service, options);
  await inbound.connect(transport);
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    // No caller can return on this connection any more.
    inbound.close(0).catch(reportTo(options.onerror));
  };
}

class ServiceInbound implements Inbound {
  readonly onsession: Inbound['onsession'];
  readonly onrequest: Inbound['onrequest'];
  readonly #service: Service;
  readonly #modern: ModernInbound | undefined;
  readonly #options: ConnectionOptions;
  readonly #connections = new Set<Connection>();

  constructor(service: Service, options: InboundOptions & { readonly safeToRerun: SafeToRerun | undefined }) {
    const { eras = 'both', askTimeout = 600_000 } = options;
    const onerror = reportTo(options.onerror);
    const legacy = eras !== 'modern';
    this.#service = service;
    if (eras !== 'legacy') {
      const modern = new ModernInbound(service, {
        onerror,
        // A session may wait without limit. A suspended request has no connection, so it waits at most as long as a
        // timer can.
        askTimeout: askTimeout > 0 ? Math.min(askTimeout, MAX_TIMER) : MAX_TIMER,
        supportedVersions: legacy ? [...MODERN_REVISIONS, ...LEGACY_REVISIONS.toReversed()] : MODERN_REVISIONS,
        serverInfo: options.serverInfo,
        stateKey: options.stateKey,
        sealState: options.sealState ?? true,
        safeToRerun: options.safeToRerun ?? (() => false),
        maxSuspended: options.maxSuspended ?? 1000,
        maxSuspendedPerPrincipal: options.maxSuspendedPerPrincipal ?? 100,
        maxSubscriptions: options.maxSubscriptions ?? 15_000,
        maxSubscriptionsPerPrincipal: options.maxSubscriptionsPerPrincipal ?? 1000,
        reach: reachOf(options.state),
      });
      this.#modern = modern;
      this.onrequest = (message, extra, reply) => {
        if ('id' in message) return reply && modern.request(message, extra, reply);
        const refused = modern.notification(message, extra);
        if (refused) throw refused;
      };
    }
    const onclose = (closed: Connection): void => void this.#connections.delete(closed);
    this.#options = {
      ...options,
      onerror,
      legacy,
      modern: this.#modern,
      total: new TotalLoad(),
      ends: new FewPerTurn(),
      subscribed: new TotalLoad(),
      onclose,
    };
    // Over HTTP, the transport separates the eras before a session exists.
    const sessions: ConnectionOptions = { ...this.#options, modern: undefined };
    if (legacy) this.onsession = (transport) => this.#add(transport, sessions);
  }

  get suspended(): number {
    return this.#modern?.suspended ?? 0;
  }

  connect(transport: Transport): Promise<void> {
    return this.#add(transport, this.#options);
  }

  async close(timeout = 5000): Promise<void> {
    await Promise.all([
      this.#modern?.close(timeout),
      allInTurns(this.#connections, (connection) => connection.close(timeout)),
    ]);
  }

  async #add(transport: Transport, options: ConnectionOptions): Promise<void> {
    const connection = new Connection(this.#service, transport, options);
    this.#connections.add(connection);
    try {
      await connection.start();
    } catch (error) {
      this.#connections.delete(connection);
      throw error;
    }
  }
}
