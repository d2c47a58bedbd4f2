/**
 * Serves the protocol over HTTP: one handler for Streamable HTTP of every revision and for HTTP+SSE, with adapters for
 * `node:http` and for web-standard `Request` and `Response`.
 *
 * @module
 */
export type { BufferBudget, Holder } from './buffer-budget.ts';
export type { BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpRefusal, HttpStream, RefusalReason } from './call.ts';
export type { ScopesFor } from './admission.ts';
export { fetchListener, type FetchContext } from './fetch.ts';
export type { Authenticator, AuthRefusal } from './authenticator.ts';
export type { HostRules } from './guards.ts';
export { createHttpHandler, type HttpHandler, type HttpHandlerOptions, type HttpPage } from './handler.ts';
export { listen, type HttpListener, type ListenOptions, type TlsCredentials } from './listen.ts';
export { nodeListener, type NodeRequest } from './node.ts';
export {
  EventsPurged,
  type EventId,
  type EventLog,
  type LoggedEvent,
  type SessionId,
  type StreamId,
} from '../../store/event-log.ts';
export { memoryEventLog, type MemoryEventLog, type MemoryEventLogOptions } from '../../store/memory.ts';
