import { describe, expect, test } from 'vitest';
import { taskStoreSuite } from '../testing/task-store-suite.ts';
import { memoryTaskStore } from './memory-tasks.ts';
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
  test('a task without a time of its own is kept for a while after it is over, and forever before', async () => {
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

  test('one task may not be larger than its share', async () => {
    const store = memoryTaskStore({ maxTaskBytes: 500 });
    await store.create(record('a'));
    const large = { ...record('b'), statusMessage: 'x'.repeat(500) };
    await expect(store.create(large)).rejects.toBeInstanceOf(TaskStoreFull);
    await expect(store.update('a', undefined, () => ({ ...large, id: 'a' }))).rejects.toBeInstanceOf(TaskStoreFull);
  });

  test('a task whose time ends while it is changed gives its place back once', async () => {
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

  test('callers without a principal have no bound of their own', async () => {
    const store = memoryTaskStore({ maxPerPrincipal: 1 });
    for (let n = 0; n < 10; n += 1) await store.create(record(`t${n}`));
    expect(await store.get('t9', undefined)).toBeDefined();
  });

  test.each(['maxTasks', 'maxPerPrincipal', 'maxBytes', 'maxTaskBytes', 'maxAge'])(
    '%s is no number below 0',
    (name) => {
      expect(() => memoryTaskStore({ [name]: -1 })).toThrow(RangeError);
      expect(() => memoryTaskStore({ [name]: Number.NaN })).toThrow(RangeError);
    },
  );
});
