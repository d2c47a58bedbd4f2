import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred, settled } from '../../test/support/service.ts';
import type { TaskRecord, TaskStore } from '../store/task-store.ts';
import { RunningTask } from './running-task.ts';

const record: TaskRecord = {
  id: 'task',
  runner: 'runner',
  status: 'working',
  createdAt: Date.now(),
  lastUpdatedAt: Date.now(),
  ttlMs: 50,
  pollIntervalMs: 1000,
};

test.each(['succeeds', 'finds no task'])('a task ends once if it expires during a write that %s', async (how) => {
  const [written, deleted, over] = [deferred(), deferred(), deferred()];
  const ends: string[] = [];
  const store: Pick<TaskStore, 'update' | 'delete'> = {
    update: async (_id, _principal, change) => {
      const next = change(record);
      await written.promise;
      return how === 'succeeds' ? next : undefined;
    },
    delete: () => deleted.promise,
  };
  const task = new RunningTask(record, {
    store: store as TaskStore,
    controller: new AbortController(),
    caller: new TestExchange('tools/call', {}).caller,
    admit: () => true,
    onchange: () => {},
    onexpired: ({ status }) => {
      ends.push(status);
      written.resolve();
    },
    onover: () => {
      ends.push('over');
      over.resolve();
    },
    onerror: () => {},
  });
  task.begin();
  void task.end({ status: 'completed', result: {} });
  await written.promise;
  await settled();
  deleted.resolve();
  await over.promise;
  await settled();
  expect(ends).toEqual(['completed', 'over']);
});
