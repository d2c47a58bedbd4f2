import { randomUUID } from 'node:crypto';
import type { RootDatabase } from 'lmdb';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { IndexedTasks, type KeptTask, type MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { TaskRecord } from '../task-store.ts';
import type { EmbeddedState, EmbeddedStateOptions } from './embedded-types.ts';
import { EmbeddedEvents } from './events.ts';
import type { DatabaseName } from './frame.ts';
import { sessionsIn } from './sessions.ts';
import { keyOf, Table } from './table.ts';
import { Writer } from './writer.ts';

const STOPPED = 'The server was stopped before the task was done';

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
