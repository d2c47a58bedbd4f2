import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { Caller, Service, Session } from '../core/exchange.ts';
import { LATEST_LEGACY_REVISION } from '../protocol/revisions.ts';
import { VERSION } from '../version.ts';
import { RestartingUpstream, type Identity, type UpstreamTransport } from './upstream.ts';

/** What is behind a bridge, and for whom. */
export interface BridgeOptions {
  /** Makes a new connection to the server behind the bridge. */
  readonly open: () => UpstreamTransport;
  /** One connection for all callers. Default: one for each session, made in its caller's name. */
  readonly shared?: boolean;
  /** Milliseconds that the handshake with the server may take. Default 60 000. */
  readonly handshakeTimeout?: number;
  /** Hears of what no caller can be told. Default: nobody. */
  readonly onerror?: (error: Error) => void;
}

/** A server behind a transport, as a service. */
export interface Bridge {
  /** The server, to be served with `serve` or `createInbound`. Connects when it is first needed. */
  readonly service: Service;
  /** Live connections to the server. */
  readonly upstreams: number;
  /**
   * Connects once, to see that the server is there and answers.
   *
   * @throws RpcError where it does not.
   */
  check(): Promise<void>;
  /** Closes all connections to the server; what is in flight fails. Resolves when they are gone. */
  close(): Promise<void>;
}

/** Who the bridge is where it speaks in nobody's name. It can pass on any question; whether the caller can answer shows then. */
const OWN_IDENTITY: Identity = {
  clientInfo: { name: 'everwire-bridge', version: VERSION },
  capabilities: {
    roots: { listChanged: true },
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
  },
  revision: LATEST_LEGACY_REVISION,
};

/**
 * Makes one service of a server behind a transport: it is `serve`d to whoever comes, over any other. A connection that is
 * lost is opened again for the next request; what was in flight fails with an `RpcError`.
 */
export function createBridge(options: BridgeOptions): Bridge {
  return options.shared ? new SharedBridge(options) : new SessionBridge(options);
}

function upstreamFor(
  identity: Identity,
  { open, handshakeTimeout, onerror = () => {} }: BridgeOptions,
): RestartingUpstream {
  return new RestartingUpstream({ open, identity, handshakeTimeout, onerror });
}

class SharedBridge implements Bridge {
  readonly #upstream: RestartingUpstream;
  readonly service: Service;

  constructor(options: BridgeOptions) {
    this.#upstream = upstreamFor(OWN_IDENTITY, options);
    this.service = this.#upstream.service;
  }

  get upstreams(): number {
    return this.#upstream.connected ? 1 : 0;
  }

  async check(): Promise<void> {
    await this.#upstream.connect();
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }
}

class SessionBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #onerror: (error: Error) => void;
  readonly #upstreams = new Map<Session, RestartingUpstream>();
  /** Those on their way out. */
  readonly #closing = new Set<Promise<void>>();
  /** Connections of `check`. */
  readonly #probes = new Set<RestartingUpstream>();
  #closed = false;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#onerror = options.onerror ?? (() => {});
  }

  get upstreams(): number {
    let connected = 0;
    for (const upstream of this.#upstreams.values()) if (upstream.connected) connected += 1;
    return connected;
  }

  readonly service: Service = (exchange) => {
    const { caller } = exchange;
    if (!caller.session) {
      return Promise.reject(
        new RpcError(
          ErrorCode.InvalidRequest,
          'This bridge has one server process a session, and the request belongs to none',
        ),
      );
    }
    const upstream = this.#upstreams.get(caller.session) ?? this.#add(caller, caller.session);
    if (!upstream) return Promise.reject(new RpcError(ErrorCode.InternalError, 'The session is over'));
    const answer = upstream.service(exchange);
    if (exchange.method !== 'server/discover') return answer;
    return answer.catch((error: unknown) => {
      // No session comes about; the next attempt starts from nothing.
      this.#remove(caller.session!);
      throw error;
    });
  };

  async check(): Promise<void> {
    const probe = upstreamFor(OWN_IDENTITY, this.#options);
    this.#probes.add(probe);
    try {
      await probe.connect();
    } finally {
      await probe.close();
      this.#probes.delete(probe);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const session of [...this.#upstreams.keys()]) this.#remove(session);
    await Promise.all([...this.#closing, ...[...this.#probes].map((probe) => probe.close())]);
  }

  #add({ clientInfo, capabilities, revision }: Caller, session: Session): RestartingUpstream | undefined {
    if (this.#closed || session.signal.aborted) return undefined;
    const identity = { clientInfo: clientInfo ?? OWN_IDENTITY.clientInfo, capabilities, revision };
    const upstream = upstreamFor(identity, this.#options);
    this.#upstreams.set(session, upstream);
    session.signal.addEventListener('abort', () => this.#remove(session), { once: true });
    return upstream;
  }

  #remove(session: Session): void {
    const upstream = this.#upstreams.get(session);
    if (!upstream) return;
    this.#upstreams.delete(session);
    const closing: Promise<void> = upstream
      .close()
      .catch(this.#onerror)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
