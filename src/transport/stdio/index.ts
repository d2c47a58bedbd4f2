/**
 * Messages as lines: stdin and stdout of a server, a server as a child process, or any pair of byte streams.
 *
 * @module
 */
export { childTransport, type ChildExit, type ChildOptions, type ChildTransport } from './child.ts';
export { stdioServerTransport, type StdioServerOptions } from './server.ts';
export { streamTransport, type StreamTransport, type StreamTransportOptions } from './stream.ts';
