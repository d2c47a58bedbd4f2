export type { HttpCall, HttpHeaders, HttpStream } from './call.ts';
export { fetchListener } from './fetch.ts';
export type { HostRules } from './guards.ts';
export { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from './handler.ts';
export { listen, type HttpListener, type ListenOptions } from './listen.ts';
export { nodeListener, type NodeRequest } from './node.ts';
