import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { Deferred } from '../base/deferred.ts';
import { nextTurn } from '../base/wait.ts';
import type { Caller } from '../core/exchange.ts';
import { memoryTaskStore } from '../store/memory-tasks.ts';
import type { TaskStore } from '../store/task-store.ts';
import { McpServer } from './mcp-server.ts';

const CAPABILITIES = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A server with a task of each principal. Its store is read by `get`, which gets the function that really reads. */
async function setUp(
  get: (principal: string | undefined, read: () => ReturnType<TaskStore['get']>) => ReturnType<TaskStore['get']>,
) {
  const memory = memoryTaskStore();
  const store: TaskStore = {
    create: (task) => memory.create(task),
    get: (id, principal) => get(principal, () => memory.get(id, principal)),
    update: (...change) => memory.update(...change),
    delete: (...task) => memory.delete(...task),
    unfinished: (runner) => memory.unfinished(runner),
  };
  const errors: Error[] = [];
  const server = new McpServer({
    name: 'test',
    version: '1',
    tasks: { store },
    onerror: (error) => errors.push(error),
  });
  server.tool('work', { task: true }, () => 'done');
  const request = (method: string, params: object, principal: string): TestExchange => {
    const caller: Partial<Caller> = { revision: '2026-07-28', capabilities: CAPABILITIES, principal };
    return new TestExchange(method, params, { caller });
  };
  const reader = async (principal: string): Promise<() => TestExchange> => {
    const { taskId } = await server.service(request('tools/call', { name: 'work' }, principal));
    return () => request('tasks/get', { taskId }, principal);
  };
  return { server, errors, request, readOfMany: await reader('many'), readOfOne: await reader('one') };
}

test('a caller does not wait for all tasks of another one that take long to read, and nor does anything else', async () => {
  const seen: (string | undefined)[] = [];
  const { server, readOfMany, readOfOne } = await setUp((principal, read) => {
    seen.push(principal);
    const end = performance.now() + 25;
    while (performance.now() < end);
    return read();
  });
  const flood = Array.from({ length: 20 }, () => server.service(readOfMany()));
  void nextTurn().then(() => seen.push('a turn'));
  await server.service(readOfOne());
  expect(seen.indexOf('one')).toBeLessThan(6);
  expect(seen.indexOf('a turn')).toBeLessThan(4);
  await Promise.all(flood);
  expect(seen.filter((principal) => principal === 'many')).toHaveLength(20);
});

test('only a few tasks of a caller are read at a time, and none for a caller that has left', async () => {
  const reading: Deferred[] = [];
  const { server, errors, readOfMany, readOfOne } = await setUp(async (principal, read) => {
    if (principal === 'one') return read();
    const slow = new Deferred();
    reading.push(slow);
    await slow.promise;
    return read();
  });
  const exchanges = Array.from({ length: 40 }, readOfMany);
  const answers = exchanges.map((exchange) => server.service(exchange));
  expect(await server.service(readOfOne())).toMatchObject({ taskId: expect.any(String) });
  expect(reading).toHaveLength(16);
  for (const exchange of exchanges.slice(20)) exchange.abort();
  for (let read = 0; read < 20; read += 1) {
    reading[read]!.resolve();
    await answers[read];
  }
  const left = await Promise.allSettled(answers.slice(20));
  expect(left.map(({ status }) => status)).toEqual(Array(20).fill('rejected'));
  expect(reading).toHaveLength(20);
  expect(errors).toEqual([]);
});

test('the state of a task that changes is read at once, because other listeners wait for it', async () => {
  let slow = false;
  const reading: Deferred[] = [];
  const { server, request, readOfMany } = await setUp(async (_, read) => {
    if (slow) {
      const wait = new Deferred();
      reading.push(wait);
      await wait.promise;
    }
    return read();
  });
  const changes = new Deferred();
  server.tool('change', { task: true }, async () => {
    await changes.promise;
    return 'done';
  });
  const { taskId } = await server.service(request('tools/call', { name: 'change' }, 'many'));
  const listener = request('subscriptions/listen', { notifications: { taskIds: [taskId] } }, 'many');
  void server.service(listener);
  await expect.poll(() => listener.notified).toHaveLength(1);
  slow = true;
  const flood = Array.from({ length: 40 }, () => server.service(readOfMany()));
  await expect.poll(() => reading.length).toBe(16);
  changes.resolve();
  await expect.poll(() => reading.length).toBe(17);
  slow = false;
  for (const wait of reading) wait.resolve();
  await expect.poll(() => listener.notified.at(-1)?.params).toMatchObject({ taskId, status: 'completed' });
  listener.abort();
  await Promise.all(flood);
});
