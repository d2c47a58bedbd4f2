import { ErrorCode } from '../../jsonrpc/errors.ts';
import { IndexedTasks, taskBounds, type KeptTask, type MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { TaskRecord } from '../task-store.ts';
import { keyOf, type Table } from './table.ts';

const STOPPED = 'The server was stopped before the task was done';

/** The tasks in a table. */
export interface TasksInTable {
  readonly tasks: IndexedTasks;
  /** Fails the tasks whose handlers were in a former process. */
  readonly failInterrupted: () => Promise<void>;
}

/** Each text begins with a line for the index. */
export function tasksIn(table: Table, options: MemoryTaskStoreOptions = {}): TasksInTable {
  const { now = () => Date.now() } = options;
  const maxTaskBytes = Math.min(taskBounds(options).maxTaskBytes, table.maxTextBytes);
  const tasks = new IndexedTasks(
    { ...options, maxTaskBytes },
    {
      read: (id) => {
        const text = table.read(keyOf(id));
        return text?.slice(text.indexOf('\n') + 1);
      },
      write: (id, text, kept) => table.write(keyOf(id), `${JSON.stringify(kept)}\n${text}`),
      remove: (id) => table.remove(keyOf(id)),
    },
  );
  const left: { id: string; kept: KeptTask }[] = [];
  for (const [key, text] of table.range({})) {
    const kept = JSON.parse(text.slice(0, text.indexOf('\n'))) as Omit<KeptTask, 'until'> & { until: number | null };
    // JSON has no infinity.
    const restored: KeptTask = { ...kept, principal: kept.principal, until: kept.until ?? Infinity };
    left.push({ id: decodeURIComponent(key), kept: restored });
  }
  for (const { id, kept } of left) tasks.restore(id, kept);
  const failInterrupted = async (): Promise<void> => {
    const error = { code: ErrorCode.InternalError, message: STOPPED };
    for (const { id, kept } of left) {
      if (kept.terminal) continue;
      // A full store must not keep the server from starting.
      await tasks.updateAnyway(id, kept.principal, ({ inputRequests: _questions, ...task }): TaskRecord => ({
        ...task,
        ...{ status: 'failed', error, statusMessage: STOPPED, lastUpdatedAt: Math.max(now(), task.lastUpdatedAt) },
      }));
    }
  };
  return { tasks, failInterrupted };
}
