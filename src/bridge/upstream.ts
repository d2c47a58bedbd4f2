import { ConnectionError, mayRepeat, TimeoutError } from '../client/errors.ts';
import { keepListening } from '../client/keep-listening.ts';
import { Link } from '../client/link.ts';
import type { Opener } from '../client/requester.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Attribution } from '../wire/legacy/outbound/attribution.ts';
import type { Upstream } from '../wire/upstream.ts';
import type { BridgeIdentity } from './identity.ts';

export interface ReopenedUpstreamOptions {
  readonly opener: Opener;
  readonly identity: BridgeIdentity;
  readonly attribution?: Attribution | undefined;
  readonly onerror: (error: Error) => void;
  /** Called with each connection except the first. */
  readonly onreopen: () => void;
}

/**
 * One server. It is connected with the first request, and again with the first request after a loss. Requests in flight
 * fail at a loss, unless they certainly did not run. Subscriptions continue on the next connection.
 */
export class ReopenedUpstream {
  readonly #link: Link;
  readonly #onerror: (error: Error) => void;

  constructor({ opener, identity, attribution, onerror, onreopen }: ReopenedUpstreamOptions) {
    this.#onerror = onerror;
    let opened = false;
    this.#link = new Link({
      open: (signal) => opener.open({ ...identity, attribution, onerror }, signal),
      reopens: opener.reopens,
      remote: opener.remote,
      onopen: (_, rested) => {
        if (opened && !rested) onreopen();
        opened = true;
      },
      onlost: (reason) => {
        const why = reason ? `: ${reason.message}` : '';
        onerror(
          new Error(
            `The server was lost${why}; it is ${opener.remote ? 'connected to' : 'started'} again for the next request`,
          ),
        );
      },
      onerror,
    });
  }

  /** Whether it is connected. */
  get connected(): boolean {
    return this.#link.current?.closed === false;
  }

  /** The server's era. Undefined before the first connection. */
  get era(): 'legacy' | 'modern' | undefined {
    const { upstream } = this.#link;
    return upstream && REVISIONS[upstream.revision].era;
  }

  /** @throws RpcError if the server cannot be reached. */
  connect(): Promise<Upstream> {
    return this.#link.connect().catch((error: unknown) => {
      throw asRpcError(error);
    });
  }

  /** Closes the current connection. The next request makes another one, and subscriptions continue on it. */
  rest(): Promise<void> {
    return this.#link.rest();
  }

  async close(): Promise<void> {
    const reason = new RpcError(CONNECTION_CLOSED, 'The bridge has closed the connection to the server');
    await this.#link.close(reason);
  }

  readonly service: Service = (exchange) =>
    exchange.method === Method.Listen ? this.#listen(exchange) : this.#call(exchange);

  async #call(exchange: Exchange): Promise<JsonObject> {
    const { service } = this.#link;
    try {
      return await service(exchange).catch((error: unknown) => {
        if (!mayRepeat(error, false)) throw error;
        return service(exchange);
      });
    } catch (error) {
      throw asRpcError(error);
    }
  }

  async #listen(exchange: Exchange): Promise<JsonObject> {
    try {
      return await keepListening(exchange, {
        link: this.#link,
        service: this.#link.service,
        onerror: this.#onerror,
      });
    } catch (error) {
      throw asRpcError(error);
    }
  }
}

/** Converts an error for the bridge's caller. */
function asRpcError(error: unknown): RpcError {
  if (error instanceof ConnectionError) return new RpcError(CONNECTION_CLOSED, error.message, { cause: error });
  if (error instanceof TimeoutError) return new RpcError(REQUEST_TIMEOUT, error.message, { cause: error });
  return RpcError.from(error);
}
