import { expect, test } from 'vitest';
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
  /** Loses all tasks but one, which has not ended and asks nothing. */
  const lose = async (id: string): Promise<void> => {
    const { inputRequests: _, result: _result, ...task } = (await current.get(id, undefined))!;
    current = memoryTaskStore();
    await current.create({ ...task, status: 'working' } satisfies TaskRecord);
    for (const listener of listeners) listener();
  };
  return { tasks, lose, listeners };
}

test('a task whose outcome the store has lost fails at all processes', async () => {
  const { tasks, lose } = losing();
  const { started } = await nodes(undefined, tasks);
  const [a, b] = started;
  const taskId = await begin(a, 'hello');
  await until(a, taskId, 'input_required');
  await a.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  await until(b, taskId, 'completed');
  await lose(taskId);
  const message = 'The task has ended, but the store has lost its outcome';
  expect(await until(b, taskId, 'failed')).toMatchObject({ error: { code: -32603, message } });
});

test('a question that the store has lost is stored again, and the task goes on', async () => {
  const { tasks, lose } = losing();
  const { started } = await nodes(undefined, tasks);
  const [a, b] = started;
  const taskId = await begin(a, 'hello');
  await until(b, taskId, 'input_required');
  await lose(taskId);
  expect(await until(b, taskId, 'input_required')).toMatchObject({ inputRequests: { name: {} } });
  await b.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  await until(b, taskId, 'completed');
});
