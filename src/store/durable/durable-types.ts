import type { EventLogOptions } from '../event-log.ts';
import type { MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { State } from '../state.ts';

/** What `durableState` needs of the `ctx` of a Durable Object. Its class must be one with SQLite. */
export interface DurableContext {
  /** The storage of the object. */
  readonly storage: {
    /** The database of the object. */
    readonly sql: {
      /** Runs a statement. Returns the rows that it finds. */
      exec(query: string, ...bindings: unknown[]): Iterable<Record<string, unknown>>;
    };
    /** Resolves when all that was written survives the object. */
    sync(): Promise<void>;
    /** When `alarm` of the object will be called, in milliseconds since 1970. */
    getAlarm(): Promise<number | null>;
    /** Sets when `alarm` of the object will be called. */
    setAlarm(time: number): Promise<void>;
  };
  /** Keeps requests waiting until the callback is done. */
  blockConcurrencyWhile<T>(callback: () => Promise<T>): Promise<T>;
}

/** The limits of a state in a Durable Object. The index of what is stored is in the memory of the object. */
export interface DurableStateOptions {
  /** Limits for sessions. Default 10 000 sessions; the rest as described there. */
  readonly sessions?: SessionStoreOptions | undefined;
  /**
   * Limits for the events of streams. The size of an event is that of its JSON and 128 bytes. An event of more than 1.9 MB is
   * not stored. Default 16 MiB for all sessions together; the rest as described there. The clock is in milliseconds since
   * 1970, by default `Date.now`.
   */
  readonly events?: EventLogOptions | undefined;
  /** Limits for tasks. Default 32 MiB for all together, and 1.9 MB for each; the rest as described there. */
  readonly tasks?: MemoryTaskStoreOptions | undefined;
}

/** A state in a Durable Object. */
export interface DurableState extends State {
  /** Removes what has expired, and asks for the next alarm while anything is left. Call it in `alarm` of the object. */
  expire(): Promise<void>;
}
