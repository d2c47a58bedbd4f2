export { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';
export type { UpstreamTransport } from './upstream.ts';
