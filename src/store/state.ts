import type { Bus, NodeId } from './bus.ts';
import type { Claims } from './claims.ts';
import type { EventLog } from './event-log.ts';
import { memorySessionStore } from './memory-sessions.ts';
import { memoryTaskStore } from './memory-tasks.ts';
import { memoryEventLog } from './memory.ts';
import type { SessionStore } from './session-store.ts';
import type { TaskStore } from './task-store.ts';

export type { NodeId };

/** What a server must keep so that another process can continue its work: after a restart, or at the same time. */
export interface State {
  /** Lower-case letters and digits, if several processes may use the state at once. */
  readonly node: NodeId;
  /**
   * Whether a process is still alive. Given if several processes may use the state at once. The running calls and tasks of a
   * process end with it, so others end them in the state.
   */
  readonly isAlive?: ((node: NodeId) => Promise<boolean>) | undefined;
  /**
   * Passes messages on if they reach another process than the one that they are for. Without it, answers to questions of
   * another process are refused, and cancellations, settings and changes have an effect only where they arrive.
   */
  readonly bus?: Bus | undefined;
  /**
   * Says which process of a bridge has the connection of a client to the server. Without it, each process has a connection of
   * its own for the client.
   */
  readonly claims?: Claims | undefined;
  readonly sessions: SessionStore;
  readonly events: EventLog;
  readonly tasks: TaskStore;
}

/** A state in the memory of this process, for tests. A new server with the same one continues the sessions of the one before. */
export function memoryState(): State {
  return {
    node: 'memory',
    sessions: memorySessionStore(),
    events: memoryEventLog(),
    tasks: memoryTaskStore(),
  };
}
