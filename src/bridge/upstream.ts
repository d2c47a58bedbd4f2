import { Notice, Method } from '../protocol/methods.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { Implementation } from '../protocol/types.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { InvalidMessage } from '../jsonrpc/parse.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { derive, type Exchange, type Service } from '../core/exchange.ts';
import type { Transport } from '../transport/transport.ts';
import { connectLegacy } from '../wire/legacy/outbound.ts';
import type { Upstream } from '../wire/upstream.ts';

/** As whom a server is connected to. */
export interface Identity {
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly revision: Revision;
}

/** A transport that can tell why it closed, in its `closeReason`: what was in flight fails with that. */
export type UpstreamTransport = Transport & { readonly closeReason?: Error | undefined };

export interface RestartingUpstreamOptions {
  /** Makes the transport of one connection; called anew for each. */
  readonly open: () => UpstreamTransport;
  readonly identity: Identity;
  /** Milliseconds that the handshake may take. Default 60 000. */
  readonly handshakeTimeout?: number | undefined;
  readonly onerror: (error: Error) => void;
}

/** A server that lived at least this long (milliseconds) is started again at once; one that did not, after a growing delay. */
const STABLE_AFTER = 5000;
const FIRST_DELAY = 100;
const MAX_DELAY = 10_000;

/**
 * One server, connected to when it is first needed, and again for the first request after it was lost. What was in
 * flight when it was lost fails; what was listening goes on with its successor.
 */
export class RestartingUpstream {
  readonly #options: RestartingUpstreamOptions;
  #current: Upstream | undefined;
  #connecting: Promise<Upstream> | undefined;
  #startedAt = 0;
  #quickFailures = 0;
  #restarted: (() => void)[] = [];
  /** Set once `close` was called. */
  readonly #closing = new AbortController();

  constructor(options: RestartingUpstreamOptions) {
    this.#options = options;
  }

  readonly service: Service = (exchange) => {
    const upstream = this.#current;
    if (exchange.method === Method.Listen) return this.#listen(exchange);
    return upstream ? upstream.service(exchange) : this.#reconnected(exchange);
  };

  get connected(): boolean {
    return this.#current !== undefined;
  }

  /** @throws RpcError where the server cannot be reached. */
  connect(): Promise<Upstream> {
    if (this.#current) return Promise.resolve(this.#current);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('The bridge has closed the connection to the server'));
    this.#wake();
    const upstream = this.#current ?? (await this.#connecting?.catch(() => undefined));
    await upstream?.close();
  }

  async #reconnected(exchange: Exchange): Promise<JsonObject> {
    const upstream = await this.connect();
    return upstream.service(exchange);
  }

  async #connect(): Promise<Upstream> {
    const { open, identity, handshakeTimeout, onerror } = this.#options;
    await this.#backOff();
    this.#startedAt = Date.now();
    const transport = open();
    /** What went wrong before the handshake was over: it says why there was none, or is reported after it. */
    let early: Error[] | undefined = [];
    const report = (error: Error): void => void (early ? early.push(error) : onerror(error));
    // Who closes the bridge does not wait for a handshake that may never end.
    const giveUp = (): void => void transport.close().catch(onerror);
    this.#closing.signal.addEventListener('abort', giveUp);
    try {
      const upstream = await connectLegacy(transport, {
        ...identity,
        ...(handshakeTimeout === undefined ? {} : { handshakeTimeout }),
        closeReason: () => transport.closeReason,
        onerror: report,
      });
      const reported = early;
      early = undefined;
      for (const error of reported) onerror(error);
      upstream.onclose = () => this.#lost(transport.closeReason);
      if (upstream.closed)
        throw new RpcError(CONNECTION_CLOSED, 'The server was gone right after the handshake', {
          cause: transport.closeReason,
        });
      if (this.#closing.signal.aborted) {
        await upstream.close();
        throw this.#closing.signal.reason;
      }
      this.#current = upstream;
      this.#wake();
      return upstream;
    } catch (error) {
      this.#quickFailures += 1;
      const first = early?.find((each) => each instanceof InvalidMessage);
      throw first ? withContext(error as Error, first) : error;
    } finally {
      this.#closing.signal.removeEventListener('abort', giveUp);
    }
  }

  #lost(reason: Error | undefined): void {
    this.#current = undefined;
    this.#quickFailures = Date.now() - this.#startedAt < STABLE_AFTER ? this.#quickFailures + 1 : 0;
    if (!this.#closing.signal.aborted) {
      this.#options.onerror(
        new Error(
          `The server was lost${reason ? `: ${reason.message}` : ''}; it is started again for the next request`,
        ),
      );
    }
  }

  /** The first two attempts come at once: a server that fell over once is no server that cannot stand. */
  async #backOff(): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) throw signal.reason;
    if (this.#quickFailures < 2) return;
    const delay = Math.min(FIRST_DELAY * 2 ** (this.#quickFailures - 2), MAX_DELAY);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(done, delay);
      function done(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      }
      signal.addEventListener('abort', done);
    });
  }

  /** Listens to one connection after the other, and acknowledges once. */
  async #listen(exchange: Exchange): Promise<JsonObject> {
    const through = acknowledgedOnce(exchange);
    let upstream = await this.#connectToListen();
    for (;;) {
      try {
        return await upstream.service(through);
      } catch (error) {
        if (exchange.signal.aborted) return {};
        if (!upstream.closed) throw error;
      }
      upstream = await this.#next(exchange.signal);
      if (exchange.signal.aborted) return {};
    }
  }

  /** @throws RpcError −32000, by which the session sees that it should listen again when the server is back. */
  async #connectToListen(): Promise<Upstream> {
    try {
      return await this.connect();
    } catch (error) {
      throw new RpcError(CONNECTION_CLOSED, (error as Error).message, { cause: error });
    }
  }

  /** The next connection that a request brings about. */
  async #next(signal: AbortSignal): Promise<Upstream> {
    while (!this.#current) {
      if (signal.aborted) throw signal.reason;
      if (this.#closing.signal.aborted) throw this.#closing.signal.reason;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake);
          resolve();
        };
        signal.addEventListener('abort', wake);
        this.#restarted.push(wake);
      });
    }
    return this.#current;
  }

  #wake(): void {
    const restarted = this.#restarted;
    this.#restarted = [];
    for (const resume of restarted) resume();
  }
}

/** A server that printed something else instead of answering says more by that than by its exit. */
function withContext(error: Error, first: Error): RpcError {
  const { code } = RpcError.from(error);
  return new RpcError(code, `${error.message} (before that: ${first.message})`, { cause: error });
}

function acknowledgedOnce(exchange: Exchange): Exchange {
  let acknowledged = false;
  return derive(exchange, {
    notify: (method, params) => {
      if (method === Notice.Acknowledged) {
        if (acknowledged) return Promise.resolve();
        acknowledged = true;
      }
      return exchange.notify(method, params);
    },
  });
}
