import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { RootDatabase } from 'lmdb';
import { fileProblem } from '../../base/file-problem.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { IndexedTasks, type KeptTask, type MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { EventLogOptions } from '../event-log.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { State } from '../state.ts';
import type { TaskRecord } from '../task-store.ts';
import { DirectoryInUse, lockDirectory } from './directory-lock.ts';
import { EmbeddedEvents } from './events.ts';
import type { DatabaseName } from './frame.ts';
import { loadLmdb, openDatabase } from './open-database.ts';
import { makePrivateDirectory } from './private-directory.ts';
import { repair } from './repair.ts';
import { sessionsIn } from './sessions.ts';
import { keyOf, Table } from './table.ts';
import { Writer } from './writer.ts';

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

const STOPPED = 'The server was stopped before the task was done';

/**
 * Keeps the state of a server in a directory of this machine, so that it survives a restart, `kill -9` included. If the
 * machine loses power, the newest changes may be lost. One process uses a directory at a time. Damaged data is replaced by
 * what can be read of it. Tasks that were running end as failed.
 *
 * Needs the package `lmdb`, which is loaded now.
 *
 * @param directory is created if it is missing, and closed to other users. It must not be on a network file system.
 * @throws Error with a readable message if `lmdb` is not installed, the directory cannot be used, or another process uses
 * it.
 */
export async function embeddedState(directory: string, options: EmbeddedStateOptions = {}): Promise<EmbeddedState> {
  const { onwarning = (message: string): void => process.emitWarning(message) } = options;
  await loadLmdb();
  const unlock = await lock(directory);
  try {
    const file = (name: string): string => path.join(directory, name);
    const data = file('state.mdb');
    const warning = await repair({ data, damaged: file('damaged.mdb'), repaired: file('repaired.mdb') });
    if (warning !== undefined) onwarning(warning);
    const root = await openDatabase(data);
    try {
      const ondamage = (name: DatabaseName, key: string): void =>
        onwarning(`${data} is damaged: the entry ${key} of ${name} is lost; restart the server to repair it`);
      return await stateIn(root, ondamage, options, unlock);
    } catch (error) {
      await root.close();
      throw error;
    }
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** The state in an open database. */
export async function stateIn(
  root: RootDatabase<Buffer, string>,
  ondamage: (name: DatabaseName, key: string) => void,
  options: EmbeddedStateOptions,
  unlock: () => Promise<void>,
): Promise<EmbeddedState> {
  const writer = new Writer(root);
  const table = (name: DatabaseName): Table => {
    const database = root.openDB<Buffer, string>(name, { encoding: 'binary' });
    return new Table(database, writer, (key) => ondamage(name, key));
  };
  const events = new EmbeddedEvents(table('events'), table('streams'), options.events);
  const tables = { records: table('sessions'), settings: table('settings'), places: table('places') };
  const sessions = sessionsIn(tables, options.sessions, events);
  await events.keepOnly((id) => sessions.has(id));
  const tasks = await tasksIn(table('tasks'), options.tasks);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= closeAll(writer, unlock));
  return { node: randomUUID(), sessions, events, tasks, close, [Symbol.asyncDispose]: close };
}

async function closeAll(writer: Writer, unlock: () => Promise<void>): Promise<void> {
  try {
    await writer.close();
  } finally {
    await unlock();
  }
}

async function lock(directory: string): Promise<() => Promise<void>> {
  try {
    await makePrivateDirectory(directory);
    return await lockDirectory(directory);
  } catch (error) {
    if (error instanceof DirectoryInUse) throw error;
    throw new Error(`The store ${directory} cannot be used: ${fileProblem(error)}`, { cause: error });
  }
}

/** Each text begins with a line for the index. */
async function tasksIn(table: Table, options: MemoryTaskStoreOptions = {}): Promise<IndexedTasks> {
  const { now = () => Date.now() } = options;
  const tasks = new IndexedTasks(options, {
    read: (id) => {
      const text = table.read(keyOf(id));
      return text?.slice(text.indexOf('\n') + 1);
    },
    write: (id, text, kept) => table.write(keyOf(id), `${JSON.stringify(kept)}\n${text}`),
    remove: (id) => table.remove(keyOf(id)),
  });
  const left: { id: string; kept: KeptTask }[] = [];
  for (const [key, text] of table.range({})) {
    const kept = JSON.parse(text.slice(0, text.indexOf('\n'))) as Omit<KeptTask, 'until'> & { until: number | null };
    // JSON has no infinity.
    const restored: KeptTask = { ...kept, principal: kept.principal, until: kept.until ?? Infinity };
    left.push({ id: decodeURIComponent(key), kept: restored });
  }
  for (const { id, kept } of left) tasks.restore(id, kept);
  const error = { code: ErrorCode.InternalError, message: STOPPED };
  for (const { id, kept } of left) {
    if (kept.terminal) continue;
    // Its handler was in the former process.
    await tasks.update(id, kept.principal, ({ inputRequests: _questions, ...task }): TaskRecord => ({
      ...task,
      ...{ status: 'failed', error, statusMessage: STOPPED, lastUpdatedAt: Math.max(now(), task.lastUpdatedAt) },
    }));
  }
  return tasks;
}
