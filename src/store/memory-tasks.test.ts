import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { taskStoreSuite } from '../testing/contracts/task-store-suite.ts';
import { IndexedTasks, memoryTaskStore, type KeptTask, type MemoryTaskStoreOptions } from './memory-tasks.ts';
import { TaskStoreFull, type TaskRecord } from './task-store.ts';

describe('the task store contract', () => {
  for (const { name, run } of taskStoreSuite((bounds) => memoryTaskStore(bounds))) test(name, run);
});

const record = (id: string, changes: Partial<TaskRecord> = {}): TaskRecord => ({
  id,
  runner: 'one',
  status: 'working',
  createdAt: 0,
  lastUpdatedAt: 0,
  ttlMs: null,
  pollIntervalMs: 1000,
  ...changes,
});

describe('in memory', () => {
  test('a task without a ttl is kept until it ends, and for a time after that', async () => {
    let now = 0;
    const store = memoryTaskStore({ maxAge: 100, now: () => now });
    await store.create(record('a'));
    now = 10_000;
    await store.update('a', undefined, (task) => ({ ...task, status: 'completed', lastUpdatedAt: now }));
    now = 10_099;
    expect(await store.get('a', undefined)).toMatchObject({ status: 'completed' });
    now = 10_100;
    expect(await store.get('a', undefined)).toBeUndefined();
  });

  test('a task without a ttl is kept for one day after its end by default', async () => {
    let now = 0;
    const store = memoryTaskStore({ now: () => now });
    await store.create(record('a', { status: 'completed' }));
    now = 24 * 3_600_000 - 1;
    expect(await store.get('a', undefined)).toBeDefined();
    now += 1;
    expect(await store.get('a', undefined)).toBeUndefined();
  });

  test('each limit is reported exactly when it is reached', async () => {
    const bytes = (task: TaskRecord): number => Buffer.byteLength(JSON.stringify(task));
    const a = record('a', { principal: 'ann', statusMessage: 'ä' });
    const b = { ...a, id: 'b' };
    const refused = async (options: MemoryTaskStoreOptions, second = b): Promise<unknown> => {
      const store = memoryTaskStore(options);
      await store.create(a);
      return store.create(second).catch((error: unknown) => error);
    };
    const bobs = { ...b, principal: 'bob' };
    const size = bytes(a);
    for (const options of [{ maxTasks: 2 }, { maxPerPrincipal: 2 }, { maxBytes: 4 * size }, { maxTaskBytes: size }]) {
      expect(await refused(options)).toBeUndefined();
    }
    expect(await refused({ maxBytes: 2 * size }, bobs)).toBeUndefined();
    expect(await refused({ maxTasks: 1 })).toEqual(new TaskStoreFull('There are already 1 tasks'));
    expect(await refused({ maxPerPrincipal: 1 })).toEqual(new TaskStoreFull('This caller already has 1 tasks'));
    const together = `All tasks together must not be larger than ${2 * size - 1} bytes`;
    expect(await refused({ maxBytes: 2 * size - 1 }, bobs)).toEqual(new TaskStoreFull(together));
    const alone = `A task must not be larger than ${size - 1} bytes`;
    await expect(refused({ maxTaskBytes: size - 1 })).rejects.toEqual(new TaskStoreFull(alone));
    const twice = memoryTaskStore();
    await twice.create(a);
    await expect(twice.create(a)).rejects.toThrow('A task with this id already exists');
  });

  test('one principal cannot use all the room for tasks', async () => {
    const store = memoryTaskStore({ maxBytes: 10_000 });
    const large = (id: string, principal: string, length: number) =>
      store.create(record(id, { principal, statusMessage: 'x'.repeat(length) }));
    await large('a', 'ann', 4000);
    await large('b', 'ann', 4000);
    const refusal = new TaskStoreFull('The tasks of one caller must not be larger than 8750 bytes');
    await expect(large('c', 'ann', 500)).rejects.toEqual(refusal);
    const grown = store.update('b', 'ann', (task) => ({ ...task, statusMessage: 'x'.repeat(4500) }));
    await expect(grown).rejects.toEqual(refusal);
    await large('d', 'bob', 500);
    await store.delete('a', 'ann');
    await large('c', 'ann', 500);
  });

  test('one principal may use exactly seven eighths of the room, and callers without a principal all of it', async () => {
    const create = (bytes: number, principal?: string) => {
      const task = record('a', { ...(principal !== undefined && { principal }), statusMessage: '' });
      const missing = bytes - Buffer.byteLength(JSON.stringify(task));
      return memoryTaskStore({ maxBytes: 800 }).create({ ...task, statusMessage: 'x'.repeat(missing) });
    };
    await create(700, 'ann');
    await expect(create(701, 'ann')).rejects.toBeInstanceOf(TaskStoreFull);
    await create(800);
    await expect(create(801)).rejects.toBeInstanceOf(TaskStoreFull);
  });

  test('a task that grows needs room for its growth', async () => {
    const store = memoryTaskStore({ maxBytes: 1000 });
    await store.create(record('a', { statusMessage: 'x'.repeat(600) }));
    const grow = (length: number) =>
      store.update('a', undefined, (task) => ({ ...task, statusMessage: 'x'.repeat(length) }));
    expect((await grow(700))!.statusMessage).toHaveLength(700);
    await expect(grow(1000)).rejects.toBeInstanceOf(TaskStoreFull);
    expect((await grow(500))!.statusMessage).toHaveLength(500);
  });

  test('each task makes room when it expires', async () => {
    let now = 0;
    const store = memoryTaskStore({ maxTasks: 3, now: () => now });
    const create = (id: string, ttlMs: number) => store.create(record(id, { ttlMs, createdAt: now }));
    await create('b', 200);
    await create('a', 100);
    await create('c', 300);
    await expect(create('d', 1000)).rejects.toBeInstanceOf(TaskStoreFull);
    for (const [at, id] of [
      [100, 'd'],
      [200, 'e'],
      [300, 'f'],
    ] as const) {
      now = at - 1;
      await expect(create(id, 1000)).rejects.toBeInstanceOf(TaskStoreFull);
      now = at;
      await create(id, 1000);
    }
  });

  test('removed tasks and their callers are forgotten', async () => {
    const collect = garbageCollector();
    const store = memoryTaskStore();
    const padding = 'x'.repeat(2000);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 10_000; n += 1) {
      const principal = `${n}${padding}`;
      await store.create(record(`t${n}`, { principal }));
      await store.delete(`t${n}`, principal);
    }
    collect();
    // All of them together would be 20 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
    expect(await store.get('t0', undefined)).toBeUndefined();
  });

  test('a single task has a size limit', async () => {
    const store = memoryTaskStore({ maxTaskBytes: 500 });
    await store.create(record('a'));
    const large = { ...record('b'), statusMessage: 'x'.repeat(500) };
    await expect(store.create(large)).rejects.toBeInstanceOf(TaskStoreFull);
    await expect(store.update('a', undefined, () => ({ ...large, id: 'a' }))).rejects.toBeInstanceOf(TaskStoreFull);
  });

  test('the room of a task that expires during a change is released only once', async () => {
    let now = 0;
    const store = memoryTaskStore({ maxBytes: 600, now: () => now });
    const spare = { ...record('spare', { ttlMs: 1_000_000 }), statusMessage: 'x'.repeat(200) };
    await store.create(record('a', { ttlMs: 100 }));
    await store.update('a', undefined, (task) => {
      now = 100;
      return { ...task, statusMessage: 'x'.repeat(200) };
    });
    await store.create(spare);
    await expect(store.create({ ...spare, id: 'one more' })).rejects.toBeInstanceOf(TaskStoreFull);
  });

  test('callers without a principal have no separate limit', async () => {
    const store = memoryTaskStore({ maxPerPrincipal: 0, maxTasks: 10 });
    await expect(store.create(record('a', { principal: 'ann' }))).rejects.toBeInstanceOf(TaskStoreFull);
    for (let n = 0; n < 10; n += 1) await store.create(record(`t${n}`));
    expect(await store.get('t9', undefined)).toBeDefined();
  });

  test.each(['maxTasks', 'maxPerPrincipal', 'maxBytes', 'maxTaskBytes', 'maxAge'])('%s must be 0 or more', (name) => {
    expect(() => memoryTaskStore({ [name]: -1 })).toThrow(new RangeError(`${name} must be 0 or more, not -1`));
    expect(() => memoryTaskStore({ [name]: Number.NaN })).toThrow(RangeError);
    expect(() => memoryTaskStore({ [name]: 0 })).not.toThrow();
  });
});

describe('on a disk', () => {
  /** Tasks with texts that the test sees, and a clock that begins at 0. */
  function indexed(options: MemoryTaskStoreOptions = {}) {
    const clock = { now: 0 };
    const texts = new Map<string, string>();
    const kept: KeptTask[] = [];
    const disk: { failure?: Error } = {};
    const tasks = new IndexedTasks(
      { now: () => clock.now, ...options },
      {
        read: (id) => texts.get(id),
        write: async (id, text, about) => {
          if (disk.failure) throw disk.failure;
          texts.set(id, text);
          kept.push(about);
        },
        remove: async (id) => {
          if (disk.failure) throw disk.failure;
          texts.delete(id);
        },
      },
    );
    return { tasks, clock, texts, kept, disk };
  }

  const found = (task: TaskRecord, changes: Partial<KeptTask> = {}): KeptTask => ({
    principal: task.principal,
    share: task.share,
    runner: task.runner,
    bytes: Buffer.byteLength(JSON.stringify(task)),
    terminal: false,
    until: Number.POSITIVE_INFINITY,
    ...changes,
  });

  test('what is known of a task is written with it', async () => {
    const { tasks, clock, kept } = indexed({ maxAge: 100 });
    const ann = record('a', { principal: 'ann', share: 'of ann', statusMessage: 'ü' });
    await tasks.create(ann);
    await tasks.create(record('b', { createdAt: 5, ttlMs: 10 }));
    clock.now = 1;
    const ended = await tasks.update('a', 'ann', (task) => ({ ...task, status: 'completed', lastUpdatedAt: 1 }));
    expect(kept).toEqual([
      found(ann),
      found(record('b', { createdAt: 5, ttlMs: 10 }), { until: 15 }),
      found(ended!, { terminal: true, until: 101 }),
    ]);
  });

  test('a restored task is there, takes room, and expires', async () => {
    const { tasks, clock, texts } = indexed({ maxTasks: 2 });
    const [a, b] = [record('a'), record('b')];
    for (const task of [a, b]) texts.set(task.id, JSON.stringify(task));
    tasks.restore('a', found(a));
    tasks.restore('b', found(b, { until: 100 }));
    expect(tasks.size).toBe(2);
    expect(await tasks.get('a', undefined)).toEqual(a);
    await expect(tasks.create(record('c'))).rejects.toBeInstanceOf(TaskStoreFull);
    clock.now = 100;
    tasks.expire();
    expect([tasks.size, [...texts.keys()]]).toEqual([1, ['a']]);
  });

  test('a task whose text is lost is not there, and is not changed', async () => {
    const { tasks } = indexed();
    tasks.restore('a', found(record('a')));
    expect(await tasks.get('a', undefined)).toBeUndefined();
    expect(await tasks.update('a', undefined, () => expect.unreachable())).toBeUndefined();
    for await (const { id } of tasks.unfinished('one')) expect.unreachable(id);
  });

  test('a change that must not fail may exceed the limits', async () => {
    const task = record('a', { principal: 'ann' });
    const { tasks } = indexed({ maxTaskBytes: Buffer.byteLength(JSON.stringify(task)) });
    await tasks.create(task);
    const grow = (before: TaskRecord): TaskRecord => ({ ...before, statusMessage: 'x' });
    await expect(tasks.update('a', 'ann', grow)).rejects.toBeInstanceOf(TaskStoreFull);
    expect(await tasks.updateAnyway('a', 'bob', grow)).toBeUndefined();
    expect(await tasks.updateAnyway('a', 'ann', grow)).toEqual(grow(task));
    expect(await tasks.get('a', 'ann')).toEqual(grow(task));
  });

  test('if the texts cannot be written, the tasks and their room stay as they were', async () => {
    const a = record('a');
    const size = Buffer.byteLength(JSON.stringify(a));
    const { tasks, disk } = indexed({ maxBytes: 2 * size });
    await tasks.create(a);
    disk.failure = new Error('No space left on device');
    await expect(tasks.create(record('b'))).rejects.toBe(disk.failure);
    await expect(tasks.update('a', undefined, () => ({ ...a, statusMessage: 'x' }))).rejects.toBe(disk.failure);
    await expect(tasks.delete('a', undefined)).rejects.toBe(disk.failure);
    expect(tasks.size).toBe(1);
    expect(await tasks.get('a', undefined)).toEqual(a);
    delete disk.failure;
    await tasks.create(record('c'));
    await expect(tasks.create(record('d'))).rejects.toBeInstanceOf(TaskStoreFull);
  });

  test('a task that expires is gone even if its text cannot be removed now', async () => {
    const unhandled = vi.fn<(error: unknown) => void>();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const { tasks, clock, disk } = indexed();
    await tasks.create(record('a', { ttlMs: 100 }));
    clock.now = 100;
    disk.failure = new Error('No space left on device');
    expect(await tasks.get('a', undefined)).toBeUndefined();
    await new Promise(setImmediate);
    expect(await tasks.get('a', undefined)).toBeUndefined();
    expect(unhandled).not.toHaveBeenCalled();
  });
});
