import type { Caller, Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { MODERN_REVISIONS, type Revision } from '../protocol/revisions.ts';
import type { DiscoverResult } from '../protocol/types.ts';
import type { Upstream } from '../wire/upstream.ts';
import { Call } from './call.ts';
import { NoConnection } from './errors.ts';
import type { Identity } from './requester.ts';

/**
 * Connects to a server in this process, which is called as a function. Messages are passed without a copy: neither side
 * may change what it receives.
 *
 * @param timeout milliseconds that the server may take to describe itself.
 * @throws RpcError if it refuses, TimeoutError if it takes longer.
 */
export async function connectInProcess(
  service: Service,
  { clientInfo, capabilities }: Identity,
  signal: AbortSignal,
  timeout: number,
): Promise<Upstream> {
  const revision: Revision = MODERN_REVISIONS[0]!;
  const caller: Caller = {
    revision,
    clientInfo,
    capabilities,
    principal: undefined,
    auth: undefined,
    logLevel: undefined,
    session: undefined,
  };
  let closed = false;
  const answering: Service = async (exchange) => {
    if (closed) throw new NoConnection('The connection is closed');
    try {
      return await invoke(service, exchange);
    } catch (error) {
      // The caller that cancelled gets its own reason back.
      if (exchange.signal.aborted) throw error;
      throw asOnTheWire(error);
    }
  };
  const host = {
    caller,
    notice: () => {},
    answer: () => Promise.reject(new RpcError(ErrorCode.MethodNotFound, 'Nothing can be asked while connecting')),
  };
  const discovery = new Call(host, Method.Discover, {}, { signal, timeout, maxTimeout: timeout });
  const discovered: JsonObject = await discovery.run(answering);
  const upstream: Upstream = {
    service: answering,
    revision,
    discovered: discovered as DiscoverResult,
    get closed() {
      return closed;
    },
    onclose: undefined,
    close() {
      closed = true;
      upstream.onclose?.();
      return Promise.resolve();
    },
  };
  return upstream;
}

/** Any other error becomes a protocol error without details: those stay with the server. */
function asOnTheWire(error: unknown): RpcError {
  return RpcError.fromObject(RpcError.from(error).toObject());
}
