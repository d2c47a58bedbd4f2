import type { Service } from '../core/exchange.ts';
import type { Transport } from '../transport/transport.ts';
import { LegacyInbound, type InboundOptions } from './legacy/inbound.ts';

export type ServeOptions = InboundOptions;

/**
 * Serves one client over one connection. Sets the transport's callbacks and starts it; all that the connection holds
 * is released when it closes.
 */
export function serve(service: Service, transport: Transport, options: ServeOptions = {}): Promise<void> {
  return new LegacyInbound(service, transport, options).start();
}
