/**
 * A server behind one transport, to be served over others: what `everwire bridge` is made of.
 *
 * @module
 */
export { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';
