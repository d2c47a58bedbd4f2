/**
 * For servers in Cloudflare Workers: keeps sessions, the events of streams, and tasks in a Durable Object.
 *
 * @module
 */
export { durableState } from './durable-state.ts';
export type { DurableContext, DurableState, DurableStateOptions } from './durable-types.ts';
