import type { EventLogOptions } from '../event-log.ts';
import type { MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { State } from '../state.ts';
import { EventsInTables } from './events.ts';
import { sessionsIn } from './sessions.ts';
import type { Table, TableName } from './table.ts';
import { tasksIn } from './tasks.ts';

interface Limits {
  readonly sessions?: SessionStoreOptions | undefined;
  readonly events?: EventLogOptions | undefined;
  readonly tasks?: MemoryTaskStoreOptions | undefined;
}

/** A state in tables that one process uses at a time. */
export interface StateInTables extends State {
  /** Ends what a former process has left in mid-work. Call it once, before anyone uses the state. */
  readonly recover: () => Promise<void>;
  /** Removes what has expired. Returns whether anything is left. */
  readonly expire: () => Promise<boolean>;
}

/** Reads what a former process has left. */
export function stateIn(table: (name: TableName) => Table, limits: Limits): StateInTables {
  const events = new EventsInTables(table('events'), table('streams'), limits.events);
  const tables = { records: table('sessions'), settings: table('settings'), places: table('places') };
  const sessions = sessionsIn(tables, limits.sessions, events);
  const { tasks, failInterrupted } = tasksIn(table('tasks'), limits.tasks);
  return {
    node: crypto.randomUUID(),
    sessions,
    events,
    tasks,
    recover: async () => {
      await events.keepOnly((id) => sessions.has(id));
      await failInterrupted();
    },
    expire: async () => {
      await sessions.expire();
      await events.expire();
      tasks.expire();
      return sessions.size + tasks.size > 0;
    },
  };
}
