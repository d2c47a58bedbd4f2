/**
 * What every part shares: exchanges, services and middleware, messages and errors, the types of the protocol, and
 * `createInbound`, which opens a service to clients of every revision.
 *
 * @module
 */
export { derive, type ExchangeChanges } from './core/derive.ts';
export { compose, NotAsked } from './core/exchange.ts';
export * from './core/public.ts';
export { isRpcError } from './jsonrpc/errors.ts';
export {
  isNotification,
  isRequest,
  isResponse,
  type ErrorObject,
  type ErrorResponse,
  type JsonValue,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response,
  type ResultResponse,
} from './jsonrpc/message.ts';
export { McpErrorCode } from './protocol/errors.ts';
export type { Revision } from './protocol/revisions.ts';
export type { MessageExtra, ReplyChannel, RequestListener, SendOptions, Transport } from './transport/transport.ts';
export { createInbound, serve, type Inbound, type InboundOptions } from './wire/serve.ts';
