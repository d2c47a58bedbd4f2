import { isFromPeer } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS, REVISIONS, type Revision } from '../protocol/revisions.ts';
import { connectLegacy, type OutboundOptions } from './legacy/outbound/outbound.ts';
import { discover, discoveryError, judge, type Discovery } from './modern/outbound/discover.ts';
import { connectModern, modernUpstream } from './modern/outbound/outbound.ts';
import { TransportCarrier } from './modern/outbound/transport-carrier.ts';
import { reached, type NegotiatedUpstream, type Negotiation } from './negotiation.ts';
import { ProbedConnection, type ReasonedTransport } from './probed-connection.ts';

/**
 * Detects the revision of a server on its own connection. Closes the connection if that fails.
 *
 * Some servers exit when the first request is not a handshake. If the connection can be reopened, such a server is
 * connected again, with the handshake first.
 */
export async function negotiateConnection(
  transport: ReasonedTransport,
  negotiation: Negotiation,
): Promise<NegotiatedUpstream> {
  const { again, handshakeTimeout, signal } = negotiation;
  const left = remaining(handshakeTimeout);
  try {
    return await negotiateOn(transport, negotiation, left);
  } catch (error) {
    if (!(error instanceof EndedOnProbe) || signal?.aborted || left() < 0) throw error;
    if (!again) throw error.withHint();
    return await negotiateOn(await again(), { ...negotiation, first: 'legacy', cached: undefined }, left);
  }
}

/** @param left the time left for the whole connection attempt, in milliseconds; 0 for no limit. */
async function negotiateOn(
  transport: ReasonedTransport,
  negotiation: Negotiation,
  left: () => number,
): Promise<NegotiatedUpstream> {
  const { eras, onerror, trying } = negotiation;
  const closeReason = (): Error | undefined => transport.closeReason;
  trying(transport);
  try {
    if (!eras.has('modern')) {
      return reached(await connectLegacy(transport, legacyOptions(negotiation, closeReason)), 'legacy', 'connection');
    }
    if (eras.has('legacy')) return await new ConnectionNegotiation(transport, negotiation, left).run();
    const carrier = new TransportCarrier(transport, { closeReason, onerror });
    await carrier.start();
    return reached(await connectModern(carrier, negotiation), 'modern', 'connection');
  } catch (error) {
    await transport.close();
    throw error;
  }
}

/**
 * Returns the time left of a limit in milliseconds. It is below 0 after the limit, and always 0 if there is no limit.
 */
function remaining(limit: number): () => number {
  if (limit === 0) return () => 0;
  const end = performance.now() + limit;
  return () => Math.ceil(end - performance.now()) || -1;
}

/** The options for a handshake. */
export function legacyOptions(negotiation: Negotiation, closeReason: () => Error | undefined): OutboundOptions {
  const { clientInfo, capabilities, onBehalfOf, attribution, timeout, maxTimeout, handshakeTimeout, onerror } =
    negotiation;
  const asked = negotiation.revision ?? onBehalfOf;
  const revision = asked && REVISIONS[asked].era === 'legacy' ? asked : undefined;
  return {
    clientInfo,
    capabilities,
    revision,
    attribution,
    timeout,
    maxTimeout,
    handshakeTimeout,
    onerror,
    closeReason,
  };
}

/** The newest handshake revision that a modern server lists, if it shares no modern revision with us. */
export function namedLegacyRevision(discovery: Discovery): Revision | undefined {
  if (discovery.outcome !== 'disjoint') return undefined;
  return LEGACY_REVISIONS.findLast((revision) => discovery.supported.includes(revision));
}

class ConnectionNegotiation {
  readonly #connection: ProbedConnection;
  readonly #negotiation: Negotiation;
  readonly #left: () => number;

  constructor(transport: ReasonedTransport, negotiation: Negotiation, left: () => number) {
    this.#connection = new ProbedConnection(transport);
    this.#negotiation = negotiation;
    this.#left = left;
  }

  async run(): Promise<NegotiatedUpstream> {
    const { cached, first, probeTimeout } = this.#negotiation;
    let refused: RpcError | undefined;
    if ((cached?.era ?? first) === 'legacy') {
      const tried = await this.#handshake();
      if (!(tried instanceof RpcError)) return tried;
      // Only a response shows that the server is modern.
      if (this.#over(tried)) throw tried;
      refused = tried;
    }
    // This server spoke this era before, so it may take longer to start than the probe allows others. The handshake
    // still needs time.
    // handshake must have time left.
    const most = refused ? this.#leftOrLeast() : this.#leftOrLeast() / 2;
    const probed = await this.#probe(cached?.era === 'modern' ? most : lesser(probeTimeout, most)).catch(
      (error: unknown) => {
        if (!this.#connection.closed) throw error;
        throw refused ? endedAfter(refused, error) : new EndedOnProbe(error);
      },
    );
    if (isUpstream(probed)) return probed;
    if (refused) throw both(refused, probed);
    const revision = namedLegacyRevision(probed);
    if (probed.outcome !== 'unrecognised' && revision === undefined) throw discoveryError(probed);
    const tried = await this.#handshake(revision);
    if (!(tried instanceof RpcError)) return tried;
    // The server may have started slowly and read the probe only now.
    if (this.#connection.closed && probed.outcome === 'unrecognised' && probed.silent) {
      throw new EndedOnProbe(both(tried, probed));
    }
    if (!this.#over(tried) && this.#answeredLate()) {
      const again = await this.#probe(this.#leftOrLeast());
      if (isUpstream(again)) return again;
    }
    throw both(tried, probed);
  }

  async #probe(timeout: number): Promise<NegotiatedUpstream | Exclude<Discovery, { outcome: 'agreed' }>> {
    const connection = this.#connection;
    const { clientInfo, capabilities = {}, onerror } = this.#negotiation;
    const carrier = new TransportCarrier(connection.probe(), {
      lastId: connection.lastId,
      closeReason: () => connection.closeReason,
      onerror,
    });
    await carrier.start();
    const found = await discover(carrier, { clientInfo, capabilities, timeout });
    connection.lastId = carrier.lastId;
    if (found.outcome === 'agreed') {
      connection.keep();
      return reached(modernUpstream(carrier, found, this.#negotiation), 'modern', 'connection');
    }
    if (found.outcome === 'unrecognised' && found.silent) connection.abandon(carrier.lastId);
    return found;
  }

  /** Returns the error if the handshake failed. */
  async #handshake(revision?: Revision): Promise<NegotiatedUpstream | RpcError> {
    const connection = this.#connection;
    const probe = connection.probe();
    try {
      const upstream = await connectLegacy(probe, {
        ...legacyOptions(this.#negotiation, () => connection.closeReason),
        ...(revision === undefined ? {} : { revision }),
        openTimeout: this.#leftOrLeast(),
        lastId: connection.lastId,
      });
      connection.keep();
      return reached(upstream, 'legacy', 'connection');
    } catch (error) {
      connection.lastId += 1;
      return RpcError.from(error);
    }
  }

  /** The time left of the limit in milliseconds, at least 1, because 0 means no limit. */
  #leftOrLeast(): number {
    const left = this.#left();
    return left < 0 ? 1 : left;
  }

  /** Whether a handshake failed for another reason than a refusal by the server. */
  #over(error: RpcError): boolean {
    return this.#connection.closed || (error.code === REQUEST_TIMEOUT && !isFromPeer(error));
  }

  /** Whether a slow server has answered the probe after all, and does not speak a handshake revision. */
  #answeredLate(): boolean {
    const { late } = this.#connection;
    return late !== undefined && judge(late, MODERN_REVISIONS).outcome === 'agreed';
  }
}

function isUpstream(found: NegotiatedUpstream | Discovery): found is NegotiatedUpstream {
  return 'service' in found;
}

/** The server exited when the first request was not a handshake. Some legacy servers do this. */
class EndedOnProbe extends RpcError {
  constructor(thrown: unknown) {
    const { code, message } = RpcError.from(thrown);
    super(code, message, { cause: thrown });
  }

  /** The error to show if the connection cannot be reopened. */
  withHint(): RpcError {
    const hint = 'A server that ends on server/discover can be reached where the eras are pinned to "legacy"';
    return new RpcError(this.code, `${this.message}. ${hint}`, { cause: this.cause });
  }
}

/** The server refused the handshake, and exited at the probe. */
function endedAfter(handshake: RpcError, thrown: unknown): RpcError {
  const { message } = RpcError.from(thrown);
  return new RpcError(
    handshake.code,
    `initialize failed: ${handshake.message}. After that, server/discover: ${message}`,
    {
      data: handshake.data,
      cause: handshake,
    },
  );
}

/** Neither era worked. */
function both(handshake: RpcError, probed: Exclude<Discovery, { outcome: 'agreed' }>): RpcError {
  const { message } = discoveryError(probed);
  return new RpcError(handshake.code, `initialize failed: ${handshake.message}. Before that: ${message}`, {
    data: handshake.data,
    cause: handshake,
  });
}

/** The smaller of two limits. 0 means no limit. */
function lesser(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}
