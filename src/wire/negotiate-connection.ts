import { errorChain } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { Transport } from '../transport/transport.ts';
import { isAnswer } from './era-evidence.ts';
import { connectLegacy } from './legacy/outbound/outbound.ts';
import { judge, NotModern } from './modern/outbound/discover.ts';
import { connectModern } from './modern/outbound/outbound.ts';
import { TransportCarrier } from './modern/outbound/transport-carrier.ts';
import { handshakeOptions, reached, type NegotiatedUpstream, type Negotiation } from './negotiation.ts';
import { ProbedConnection } from './probed-connection.ts';

/**
 * Detects the revision of a server over a connection of its own, such as stdio. Closes the connection if that fails.
 *
 * Some servers exit when the first request is not a handshake. If the connection can be reopened, such a server is
 * connected again, with the handshake first.
 */
export async function negotiateConnection(transport: Transport, negotiation: Negotiation): Promise<NegotiatedUpstream> {
  const { again, handshakeTimeout, signal } = negotiation;
  const deadline = performance.now() + (handshakeTimeout || Infinity);
  try {
    return await new Attempt(transport, negotiation, deadline).run();
  } catch (error) {
    if (!(error instanceof EndedOnProbe) || signal?.aborted || performance.now() > deadline) throw error;
    if (isNotLoaded(error)) throw error;
    if (!again) throw error.withHint();
    const handshakeFirst: Negotiation = { ...negotiation, first: 'legacy', cached: undefined };
    return await new Attempt(await again(), handshakeFirst, deadline).run();
  }
}

/** The attempt to reach a server on one connection, in one era or both. */
class Attempt {
  readonly #transport: Transport;
  readonly #connection: ProbedConnection;
  readonly #negotiation: Negotiation;
  readonly #deadline: number;

  /** @param deadline for the whole attempt, in the time of `performance.now()`. */
  constructor(transport: Transport, negotiation: Negotiation, deadline: number) {
    this.#transport = transport;
    this.#connection = new ProbedConnection(transport, () => {
      const timeout = this.#left;
      const timeoutError = (): Error =>
        new RpcError(REQUEST_TIMEOUT, `The transport did not start within ${timeout} ms`);
      return { signal: negotiation.signal, timeout, timeoutError };
    });
    this.#negotiation = negotiation;
    this.#deadline = deadline;
  }

  async run(): Promise<NegotiatedUpstream> {
    const { eras, cached, first, trying } = this.#negotiation;
    trying(this.#transport);
    try {
      if (!eras.has('modern')) return await this.#handshake();
      if (!eras.has('legacy')) return await this.#probe(this.#left);
      return await ((cached?.era ?? first) === 'legacy' ? this.#handshakeFirst() : this.#probeFirst());
    } catch (error) {
      await this.#transport.close();
      throw error;
    }
  }

  async #handshakeFirst(): Promise<NegotiatedUpstream> {
    try {
      return await this.#handshake();
    } catch (refused) {
      if (!this.#wasRefused(refused)) throw refused;
      return await this.#probe(this.#left).catch((error: unknown) => {
        throw handshakeFailed(refused, 'After that, server/discover', error);
      });
    }
  }

  async #probeFirst(): Promise<NegotiatedUpstream> {
    const { cached, probeTimeout } = this.#negotiation;
    const connection = this.#connection;
    // Reserve time for the handshake. A server that spoke this era before may need it all to start.
    const half = Math.ceil(this.#left / 2);
    let probed: NotModern;
    try {
      return await this.#probe(cached?.era === 'modern' ? half : Math.min(probeTimeout || Infinity, half));
    } catch (error) {
      if (!(error instanceof NotModern)) throw connection.closed ? new EndedOnProbe(error) : error;
      if (!error.mayBeLegacy) throw error;
      probed = error;
    }
    try {
      return await this.#handshake(probed.legacy);
    } catch (error) {
      const failed = probed.silent && isTimeout(error) ? silent(error) : handshakeFailed(error, 'Before that', probed);
      // The server may have started slowly and read the probe only now.
      if (connection.closed && probed.silent) throw new EndedOnProbe(failed);
      if (this.#wasRefused(error) && this.#answeredLate()) return await this.#probe(this.#left);
      throw failed;
    }
  }

  async #probe(openTimeout: number): Promise<NegotiatedUpstream> {
    const connection = this.#connection;
    const { lastId } = connection;
    const carrier = new TransportCarrier(connection, { lastId, onerror: this.#negotiation.onerror });
    await carrier.start();
    const upstream = await connectModern(carrier, { ...this.#negotiation, openTimeout });
    connection.keep();
    return reached(upstream, 'modern', 'connection');
  }

  async #handshake(named?: Revision): Promise<NegotiatedUpstream> {
    const connection = this.#connection;
    const { lastId } = connection;
    const options = { ...handshakeOptions(this.#negotiation, named), lastId, openTimeout: this.#left };
    const upstream = await connectLegacy(connection, options);
    connection.keep();
    return reached(upstream, 'legacy', 'connection');
  }

  /** Milliseconds. At least 1, because 0 means no limit. */
  get #left(): number {
    return Math.max(1, Math.ceil(this.#deadline - performance.now()));
  }

  /** Whether the server refused a handshake. Only a response shows that the server may be modern. */
  #wasRefused(error: unknown): boolean {
    return !this.#connection.closed && isAnswer(RpcError.from(error));
  }

  /** Whether a slow server answered the probe after all, and does not speak a handshake revision. */
  #answeredLate(): boolean {
    const { lateResponse } = this.#connection;
    try {
      return lateResponse !== undefined && judge(lateResponse) !== undefined;
    } catch {
      return false;
    }
  }
}

/** Whether the program of the server could not be loaded. */
function isNotLoaded(error: Error): boolean {
  for (const each of errorChain(error)) if ('notLoaded' in each && each.notLoaded === true) return true;
  return false;
}

/** The server exited when the first request was not a handshake. Some legacy servers do this. */
class EndedOnProbe extends RpcError {
  constructor(thrown: unknown) {
    const { code, message } = RpcError.from(thrown);
    super(code, message, { cause: thrown });
  }

  /** The error to show if the connection cannot be reopened. */
  withHint(): RpcError {
    const hint = 'If the server exits when it gets server/discover, set the option "eras" to "legacy"';
    return new RpcError(this.code, `${this.message}. ${hint}`, { cause: this.cause });
  }
}

/** Whether this side gave up waiting. */
function isTimeout(error: unknown): boolean {
  const { code, origin } = RpcError.from(error);
  return code === REQUEST_TIMEOUT && origin === 'local';
}

/** The error if nothing was answered, in either era. */
function silent(thrown: unknown): RpcError {
  const { code, data } = RpcError.from(thrown);
  const message =
    'The server answered neither server/discover nor initialize: it is not an MCP server, or it needs more time to start';
  return new RpcError(code, message, { data, cause: thrown });
}

/** The error if neither era worked. */
function handshakeFailed(thrown: unknown, when: string, probed: unknown): RpcError {
  const { code, message, data } = RpcError.from(thrown);
  const other = RpcError.from(probed).message;
  return new RpcError(code, `initialize failed: ${message}. ${when}: ${other}`, {
    data,
    cause: thrown,
  });
}
