import type { EventLog } from './event-log.ts';
import { memorySessionStore } from './memory-sessions.ts';
import { memoryTaskStore } from './memory-tasks.ts';
import { memoryEventLog } from './memory.ts';
import type { SessionStore } from './session-store.ts';
import type { TaskStore } from './task-store.ts';

/**
 * Identifies a process among those that have used the same state. A restarted process has another one.
 */
export type NodeId = string;

/** What a server must keep so that its clients notice little of a restart. */
export interface State {
  /** Lower-case letters and digits, if several processes may use the state at once. */
  readonly node: NodeId;
  /**
   * Whether a process is still there. Given if several processes may use the state at once. What a process was doing ends
   * with it.
   */
  readonly isAlive?: ((node: NodeId) => Promise<boolean>) | undefined;
  readonly sessions: SessionStore;
  readonly events: EventLog;
  readonly tasks: TaskStore;
}

/** A state in the memory of this process, for tests. Servers with the same one continue each other's sessions. */
export function memoryState(): State {
  return {
    node: 'memory',
    sessions: memorySessionStore(),
    events: memoryEventLog(),
    tasks: memoryTaskStore(),
  };
}
