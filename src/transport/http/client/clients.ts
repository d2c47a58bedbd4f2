/**
 * What a client loads to reach a URL, as one module. Jest cannot link modules that are imported at the same time and share
 * others.
 */
export { httpCarrier } from './http-carrier.ts';
export { SseClient } from './sse-client.ts';
export { StreamableClient } from './streamable-client.ts';
