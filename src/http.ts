/**
 * Serves the protocol over HTTP: one handler for Streamable HTTP of every revision and for HTTP+SSE, with adapters for
 * `node:http` and for web-standard `Request` and `Response`.
 *
 * @module
 */
import type { Service } from './core/exchange.ts';
import { listenFor } from './server/http-service.ts';
import {
  createHttpHandler as createHandler,
  type HttpHandler,
  type HttpHandlerOptions as TransportOptions,
} from './transport/http/server/handler.ts';
import {
  listen as listenAt,
  type HttpListener,
  type ListenOptions as Address,
} from './transport/http/server/listen.ts';
import { createInbound, type Inbound, type InboundOptions } from './wire/serve.ts';

export type { BufferBudget, Holder } from './base/buffer-budget.ts';
export type {
  BodyRefusal,
  HttpBody,
  HttpCall,
  HttpHeaders,
  AboutRefusal,
  HttpRefusal,
  HttpStream,
  RefusalReason,
} from './transport/http/server/call.ts';
export type { ScopesFor } from './transport/http/server/access/scope-check.ts';
export { fetchListener, type FetchContext } from './transport/http/server/fetch.ts';
export type { Authenticator, AuthRefusal } from './transport/http/server/access/authenticator.ts';
export type { HostRules } from './transport/http/server/access/guards.ts';
export type { HandlerState, HttpHandler, HttpPage } from './transport/http/server/handler.ts';
export type { HttpListener, TlsCredentials } from './transport/http/server/listen.ts';
export { nodeListener, type NodeRequest } from './transport/http/server/node.ts';
export {
  EventsPurged,
  type EventId,
  type EventLog,
  type EventLogOptions,
  type FoundStream,
  type LoggedEvent,
  type SessionId,
  type StreamId,
  type UnfinishedStream,
} from './store/event-log.ts';
export {
  SessionStoreFull,
  type SessionRecord,
  type SessionSettings,
  type SessionStore,
  type SessionStoreOptions,
} from './store/session-store.ts';
export { memoryEventLog, type MemoryEventLog, type MemoryEventLogOptions } from './store/memory.ts';

/**
 * The service, its paths, its authentication and its limits. Give either `service`, with the options of
 * `createInbound`, or `onsession` and `onrequest`.
 */
export interface HttpHandlerOptions extends TransportOptions, Omit<InboundOptions, 'onerror' | 'state'> {
  /** The service of a server, a bridge, a fleet or a connected client. It is served to clients of every revision. */
  readonly service?: Service | undefined;
}

/** Where to listen, and the options of the handler. */
export interface ListenOptions extends HttpHandlerOptions, Pick<Address, 'host' | 'port' | 'tls' | 'wiretap'> {}

/**
 * Answers HTTP requests: Streamable HTTP of every revision at one path, with sessions and without, and the HTTP+SSE
 * transport of 2024-11-05 beside it. `fetchListener` and `nodeListener` connect it to an HTTP server. With a `service`,
 * closing the handler also ends the subscriptions of the service, and gives requests in flight 5 seconds to finish.
 *
 * A server of the official SDK is served with `onsession: (transport) => server.connect(transport)`. Its handlers get
 * neither `requestInfo` nor `authInfo`.
 *
 * @throws TypeError for both a service and `onsession` or `onrequest`, and for options that cannot work.
 */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  const inbound = inboundOf(options);
  if (!inbound) return createHandler(options);
  const { onsession, onrequest } = inbound;
  const handler = createHandler({ ...options, onsession, onrequest });
  const close = handler.close.bind(handler);
  handler.close = async () => {
    handler.drain();
    await inbound.close();
    await close();
  };
  return handler;
}

/**
 * Serves HTTP on its own port. The headers of a request may take 15 seconds, the complete request 60 seconds, and an
 * idle connection is kept for 65 seconds. Pipelined requests run one after the other. At most 100 can wait; the next
 * one is answered with 503 and ends the connection. A TLS handshake may take 15 seconds.
 *
 * With a `service`, closing the listener also closes the service to its clients: subscriptions end, and requests in
 * flight may finish within the timeout of `close`.
 *
 * @throws Error with a readable message if the address cannot be used; TypeError as `createHttpHandler`.
 */
export async function listen(options: ListenOptions): Promise<HttpListener> {
  const inbound = inboundOf(options);
  return inbound ? listenFor(inbound, listenAt, options) : listenAt(options);
}

/** Undefined if the options have `onsession` or `onrequest`. */
function inboundOf(options: HttpHandlerOptions): Inbound | undefined {
  const { service, onsession, onrequest } = options;
  if (!service) return undefined;
  if (onsession || onrequest) throw new TypeError('Set either service, or onsession and onrequest');
  return createInbound(service, options);
}
