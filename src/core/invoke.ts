import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange } from './exchange.ts';

/**
 * Calls a service that may come from untyped code. A synchronous throw becomes a rejection, and a plain return value
 * becomes the result.
 */
export function invoke(
  service: (exchange: Exchange) => JsonObject | Promise<JsonObject>,
  exchange: Exchange,
): Promise<JsonObject> {
  try {
    return Promise.resolve(service(exchange));
  } catch (error) {
    return Promise.reject(error);
  }
}
