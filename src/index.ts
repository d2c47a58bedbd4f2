export * from './core/index.ts';
export * from './jsonrpc/errors.ts';
export * from './jsonrpc/message.ts';
export * from './protocol/index.ts';
export type { MessageExtra, SendOptions, Transport } from './transport/transport.ts';
export { serve, type ServeOptions } from './wire/serve.ts';
