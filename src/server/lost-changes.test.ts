import { expect, test, vi } from 'vitest';
import { accept, begin, nodes, until } from '../../test/support/task-nodes.ts';
import { memoryTaskStore } from '../store/memory-tasks.ts';
import type { TaskRecord, TaskStore } from '../store/task-store.ts';

/** A store that can lose changes, as Redis does after a failover. */
function losing() {
  let current = memoryTaskStore();
  const listeners = new Set<() => void>();
  const tasks: TaskStore = {
    create: (task) => current.create(task),
    get: (id, principal) => current.get(id, principal),
    update: (id, principal, change) => current.update(id, principal, change),
    delete: (id, principal) => current.delete(id, principal),
    unfinished: (runner) => current.unfinished(runner),
    onlost: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  /** Says that changes may be lost. */
  const report = (): void => {
    for (const listener of listeners) listener();
  };
  /** Loses the newest changes of a task. */
  const goBackTo = async (task: TaskRecord): Promise<void> => {
    current = memoryTaskStore();
    await current.create(task);
    report();
  };
  const recordOf = async (id: string): Promise<TaskRecord> => (await current.get(id, undefined))!;
  return { tasks, recordOf, goBackTo, report };
}

/** Two processes with one such store. A task of the first one asks, and the second one sees it. */
async function asking(tool: string) {
  const { tasks, recordOf, goBackTo } = losing();
  const { started } = await nodes(undefined, tasks);
  const [a, b] = started;
  const taskId = await begin(a, tool);
  await until(b, taskId, 'input_required');
  return { a, b, taskId, recordOf, goBackTo };
}

test('a task whose outcome the store has lost fails at all processes', async () => {
  const { a, b, taskId, recordOf, goBackTo } = await asking('hello');
  const before = await recordOf(taskId);
  await a.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  await until(b, taskId, 'completed');
  await goBackTo(before);
  const message = 'The task has ended, but the store has lost its outcome';
  expect(await until(b, taskId, 'failed')).toMatchObject({ error: { code: -32603, message } });
});

test('a question that the store has lost is stored again, and the task goes on', async () => {
  const { b, taskId, recordOf, goBackTo } = await asking('hello');
  const { inputRequests: _, ...before } = await recordOf(taskId);
  await goBackTo({ ...before, status: 'working' });
  expect(await until(b, taskId, 'input_required')).toMatchObject({ inputRequests: { name: {} } });
  await b.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  await until(b, taskId, 'completed');
});

test('if the store has lost an answer, the task does not ask again', async () => {
  const { a, b, taskId, recordOf, goBackTo } = await asking('ask-and-wait');
  const before = await recordOf(taskId);
  await a.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  await until(b, taskId, 'working');
  await goBackTo(before);
  await until(b, taskId, 'working');
});

test('a process that was suspended ends its tasks that others have ended meanwhile', async () => {
  const { tasks, report } = losing();
  const { alive, started } = await nodes(undefined, tasks);
  const [a, b] = started;
  const ended = await begin(a, 'wait');
  alive.delete('a');
  await until(b, ended, 'failed');
  alive.add('a');
  const other = await begin(a, 'wait');
  report();
  await vi.waitFor(() => expect(a.aborts).toEqual(['a']));
  await until(a, ended, 'failed');
  await until(b, other, 'working');
});
