import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange, Service } from './exchange.ts';

/**
 * Calls a service whose author no compiler has watched: what it throws at once is a rejection, and what it returns
 * without a promise is its result.
 */
export function invoke(service: Service, exchange: Exchange): Promise<JsonObject> {
  try {
    return Promise.resolve(service(exchange));
  } catch (error) {
    return Promise.reject(error);
  }
}
