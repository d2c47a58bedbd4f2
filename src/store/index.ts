/**
 * What a server must keep so that another process can continue its work, after a restart or at the same time: sessions, the
 * events of streams, and tasks.
 *
 * @module
 */
export { AnswerLost, NotTaken, type Bus, type ReceivedCall, type BusCallOptions, type BusHandler } from './bus.ts';
export type { BusListener } from './bus.ts';
export type { Claims } from './claims.ts';
export { embeddedState } from './embedded/embedded-state.ts';
export type { EmbeddedState, EmbeddedStateOptions } from './embedded/embedded-types.ts';
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
} from './event-log.ts';
export { memoryBus } from './memory-bus.ts';
export { memoryClaims } from './memory-claims.ts';
export { memorySessionStore } from './memory-sessions.ts';
export { memoryTaskStore, type MemoryTaskStoreOptions } from './memory-tasks.ts';
export { memoryEventLog, type MemoryEventLog, type MemoryEventLogOptions } from './memory.ts';
export {
  IN_USE,
  SessionStoreFull,
  type OwnStreamPlace,
  type SessionRecord,
  type SessionSettings,
  type SessionStore,
  type SessionStoreOptions,
} from './session-store.ts';
export { StoreUnreachable, type RedisClient } from './redis/commands.ts';
export { redisState, type RedisBusOptions, type RedisState, type RedisStateOptions } from './redis/redis-state.ts';
export { memoryState, type NodeId, type State } from './state.ts';
export { TaskStoreFull, type TaskRecord, type TaskStore } from './task-store.ts';
