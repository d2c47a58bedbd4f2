export { childTransport, type ChildOptions, type ChildTransport } from './child.ts';
export { stdioServerTransport, type StdioServerOptions } from './server.ts';
export { streamTransport, type StreamTransport, type StreamTransportOptions } from './stream.ts';
