/**
 * The vocabulary: exchanges, services and middleware, messages and errors, the types of the protocol, and `createInbound`,
 * which opens a service to clients of every revision.
 *
 * @module
 */
export * from './core/index.ts';
export * from './jsonrpc/errors.ts';
export * from './jsonrpc/message.ts';
export * from './protocol/index.ts';
export type { MessageExtra, ReplyChannel, RequestListener, SendOptions, Transport } from './transport/transport.ts';
export { createInbound, serve, type Inbound, type InboundOptions } from './wire/serve.ts';
