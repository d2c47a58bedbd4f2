import type { Exchange, Service } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import { acknowledgedOnce } from '../../client/acknowledged-once.ts';
import type { Members } from './members.ts';
import { ChildExchange } from './child-exchange.ts';

/**
 * One server of a fleet by itself: the one that has the name when a request comes. If it is replaced, subscriptions
 * continue with the new server and are notified that everything may have changed. If it is removed, they end.
 */
export function singleServer(members: Members, name: string): Service {
  return (exchange) => {
    const member = members.get(name);
    if (!member) return Promise.reject(missing(name));
    return exchange.method === Method.Listen ? listen(members, name, exchange) : member.service(exchange);
  };
}

async function listen(members: Members, name: string, exchange: Exchange): Promise<JsonObject> {
  const notify = acknowledgedOnce(exchange);
  for (let member = members.get(name); member; member = members.get(name)) {
    const child = new ChildExchange(exchange, Method.Listen, exchange.params, notify);
    const { signal } = exchange;
    const { gone } = member;
    const end = (): void => child.abort((signal.aborted ? signal.reason : gone.reason) as Error);
    for (const each of [signal, gone]) each.addEventListener('abort', end);
    if (signal.aborted || gone.aborted) end();
    try {
      const result = await member.service(child);
      if (!gone.aborted) return result;
    } catch (error) {
      if (!gone.aborted) throw error;
    } finally {
      for (const each of [signal, gone]) each.removeEventListener('abort', end);
    }
    if (signal.aborted) break;
  }
  return {};
}

function missing(name: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The server ${JSON.stringify(name)} was removed`);
}
