import type { EventLogOptions } from '../event-log.ts';
import type { MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { State } from '../state.ts';

/** The limits of an embedded state. */
export interface EmbeddedStateOptions {
  /** Limits for sessions. Default as described there. */
  readonly sessions?: SessionStoreOptions | undefined;
  /**
   * Limits for the events of streams. The size of an event is that of its JSON and 128 bytes. The clock is in milliseconds
   * since 1970, by default `Date.now`.
   */
  readonly events?: EventLogOptions | undefined;
  /** Limits for tasks. Default as described there. */
  readonly tasks?: MemoryTaskStoreOptions | undefined;
  /** Called if the data was damaged, with what was lost. Default: `process.emitWarning`. */
  readonly onwarning?: ((message: string) => void) | undefined;
}

/** A state in a directory. */
export interface EmbeddedState extends State {
  /** Closes the files, so that another process can use the directory. */
  close(): Promise<void>;
  /** Does the same as `close`. */
  [Symbol.asyncDispose](): Promise<void>;
}
