import assert from 'node:assert/strict';
import { TaskStoreFull, type TaskRecord, type TaskStore } from '../../store/task-store.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** The limits that a test case requires of its store. Defaults should be large: 1 000 tasks, 10 MiB. */
export interface TaskStoreBounds {
  /** How many tasks there may be. */
  readonly maxTasks?: number;
  /** How many tasks one principal may have. */
  readonly maxPerPrincipal?: number;
  /** How many bytes of JSON all tasks together may be. */
  readonly maxBytes?: number;
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
}

const BEGIN = 1_700_000_000_000;

/**
 * Test cases for every `TaskStore`.
 *
 * @param open opens an empty store with the given limits. Called once per case. Closing it is up to the caller.
 */
export function taskStoreSuite(open: (bounds: TaskStoreBounds) => TaskStore | Promise<TaskStore>): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (
    name: string,
    bounds: TaskStoreBounds,
    run: (store: TaskStore, clock: { now: number }) => Promise<void>,
  ): void => {
    const start = async (): Promise<void> => {
      const clock = { now: BEGIN };
      await run(await open({ now: () => clock.now, ...bounds }), clock);
    };
    cases.push({ name, run: start });
  };

  define('a task can be read unchanged as soon as it is created', {}, async (store) => {
    const given = task('a', { statusMessage: 'line\nbreak \u2028 ünï 😀', pollIntervalMs: 7 });
    await store.create(given);
    assert.deepEqual(await store.get('a', 'ann'), given);
  });

  define('a second task with the same id is refused', {}, async (store) => {
    await store.create(task('a'));
    await assert.rejects(store.create(task('a', { principal: 'bob' })));
    assert.equal((await store.get('a', 'ann'))?.principal, 'ann');
    assert.equal(await store.get('a', 'bob'), undefined);
  });

  define('changing a returned task does not change the stored one', {}, async (store) => {
    const given = task('a', { inputRequests: { q: { method: 'm' } } });
    await store.create(given);
    const read = (await store.get('a', 'ann')) as { inputRequests: Record<string, unknown> };
    read.inputRequests['q'] = 'changed';
    assert.deepEqual(await store.get('a', 'ann'), given);
  });

  define('a task of one principal does not exist for others', {}, async (store) => {
    await store.create(task('a'));
    await store.create(task('b', { principal: undefined }));
    for (const [id, principal] of [
      ['a', 'bob'],
      ['a', undefined],
      ['a', ''],
      ['b', 'ann'],
      ['b', 'undefined'],
      ['none', 'ann'],
    ] as const) {
      assert.equal(await store.get(id, principal), undefined);
      const change = (): never => assert.fail('nothing is there to change');
      assert.equal(await store.update(id, principal, change), undefined);
      await store.delete(id, principal);
    }
    assert.equal((await store.get('a', 'ann'))?.id, 'a');
    assert.equal((await store.get('b', undefined))?.id, 'b');
  });

  define('a change is stored and returned', {}, async (store) => {
    await store.create(task('a'));
    const expected = task('a', { status: 'completed', lastUpdatedAt: BEGIN + 5, result: { content: [] } });
    const change = (before: TaskRecord): TaskRecord => {
      assert.deepEqual(before, task('a'));
      return { ...before, status: 'completed', lastUpdatedAt: BEGIN + 5, result: { content: [] } };
    };
    assert.deepEqual(await store.update('a', 'ann', change), expected);
    assert.deepEqual(await store.get('a', 'ann'), expected);
  });

  define('concurrent changes are all applied', {}, async (store) => {
    await store.create(task('a', { statusMessage: '' }));
    const add = (mark: string) =>
      store.update('a', 'ann', (before) => ({ ...before, statusMessage: `${before.statusMessage}${mark}` }));
    const marks = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await Promise.all(marks.map(add));
    const { statusMessage } = (await store.get('a', 'ann'))!;
    assert.deepEqual(statusMessage!.split('').toSorted(), marks);
  });

  for (const status of ['completed', 'failed', 'cancelled'] as const) {
    define(`a task that is ${status} never changes`, {}, async (store) => {
      await store.create(task('a'));
      await store.update('a', 'ann', (before) => ({ ...before, status }));
      const after = await store.update('a', 'ann', (before) => ({ ...before, status: 'working' }));
      assert.equal(after?.status, status);
      assert.equal((await store.get('a', 'ann'))?.status, status);
    });
  }

  define('if the change throws, the task stays unchanged', {}, async (store) => {
    await store.create(task('a'));
    const change = (): never => {
      throw new Error('no');
    };
    await assert.rejects(store.update('a', 'ann', change), /no/);
    assert.deepEqual(await store.get('a', 'ann'), task('a'));
  });

  define(
    'a change to a value that JSON cannot represent is refused, and the task stays unchanged',
    {},
    async (store) => {
      await store.create(task('a'));
      const cycle: Record<string, unknown> = {};
      cycle['self'] = cycle;
      for (const result of [cycle, { big: 1n }]) {
        await assert.rejects(
          store.update('a', 'ann', (before) => ({ ...before, status: 'completed', result })),
          TypeError,
        );
      }
      assert.deepEqual(await store.get('a', 'ann'), task('a'));
    },
  );

  define('a deleted task does not exist any more', {}, async (store) => {
    await store.create(task('a'));
    await store.delete('a', 'ann');
    await store.delete('a', 'ann');
    assert.equal(await store.get('a', 'ann'), undefined);
  });

  define('a task exists until its ttl has passed, with any status, and not longer', {}, async (store, clock) => {
    await store.create(task('a', { ttlMs: 1000 }));
    await store.create(task('b', { ttlMs: 1000, status: 'completed' }));
    await store.create(task('c', { ttlMs: null }));
    clock.now += 999;
    for (const id of ['a', 'b', 'c']) assert.ok(await store.get(id, 'ann'), id);
    clock.now += 1;
    for (const id of ['a', 'b']) {
      assert.equal(await store.get(id, 'ann'), undefined);
      assert.equal(await store.update(id, 'ann', (before) => before), undefined);
    }
    assert.ok(await store.get('c', 'ann'));
  });

  define('a full store refuses new tasks and keeps the existing ones', { maxTasks: 2 }, async (store, clock) => {
    await store.create(task('a', { ttlMs: 1000, status: 'completed' }));
    await store.create(task('b', { principal: 'bob' }));
    await assert.rejects(store.create(task('c')), TaskStoreFull);
    assert.ok(await store.get('a', 'ann'));
    assert.ok(await store.get('b', 'bob'));
    clock.now += 1000;
    await store.create(task('c', { createdAt: clock.now }));
    await assert.rejects(store.create(task('d')), TaskStoreFull);
    await store.delete('c', 'ann');
    await store.create(task('d', { createdAt: clock.now }));
  });

  define('one principal cannot have more tasks than its own maximum', { maxPerPrincipal: 2 }, async (store) => {
    await store.create(task('a'));
    await store.create(task('b'));
    await assert.rejects(store.create(task('c')), TaskStoreFull);
    await store.create(task('d', { principal: 'bob' }));
    await store.delete('a', 'ann');
    await store.create(task('e'));
    await assert.rejects(store.create(task('f')), TaskStoreFull);
  });

  define('a share without a principal leaves room for others, in number', { maxTasks: 8 }, async (store) => {
    const anonymous = (id: string, share: string): TaskRecord => task(id, { principal: undefined, share });
    for (let n = 0; n < 7; n += 1) await store.create(anonymous(`a${n}`, 'one'));
    await assert.rejects(store.create(anonymous('more', 'one')), TaskStoreFull);
    await store.create(anonymous('b', 'two'));
    assert.equal((await store.get('b', undefined))?.share, 'two');
    await store.delete('b', undefined);
    await store.update('a0', undefined, (before) => ({ ...before, status: 'completed' }));
    await assert.rejects(store.create(anonymous('more', 'one')), TaskStoreFull);
    await store.delete('a0', undefined);
    await store.create(anonymous('more', 'one'));
  });

  define('a share without a principal leaves room for others, in bytes', { maxBytes: 10_000 }, async (store) => {
    const large = (id: string, share: string, length: number): TaskRecord =>
      task(id, { principal: undefined, share, statusMessage: 'x'.repeat(length) });
    await store.create(large('a', 'one', 8000));
    await assert.rejects(store.create(large('b', 'one', 1000)), TaskStoreFull);
    await store.create(large('b', 'two', 1000));
  });

  define(
    'a task that would be too large is refused, and the stored task stays unchanged',
    { maxBytes: 10_000 },
    async (store) => {
      await store.create(task('a'));
      const huge = { content: [{ type: 'text', text: 'x'.repeat(20_000) }] };
      await assert.rejects(
        store.update('a', 'ann', (before) => ({ ...before, status: 'completed', result: huge })),
        TaskStoreFull,
      );
      assert.deepEqual(await store.get('a', 'ann'), task('a'));
      await assert.rejects(store.create(task('b', { statusMessage: 'x'.repeat(20_000) })), TaskStoreFull);
      assert.equal(await store.get('b', 'ann'), undefined);
      // Released room can be used again.
      for (let round = 0; round < 10; round++) {
        const text = 'x'.repeat(round % 2 === 0 ? 8000 : 10);
        await store.update('a', 'ann', (before) => ({ ...before, statusMessage: text }));
      }
    },
  );

  define('a runner finds its unfinished tasks, of all principals', {}, async (store, clock) => {
    await store.create(task('a'));
    await store.create(task('b', { principal: 'bob', status: 'input_required' }));
    await store.create(task('c', { principal: undefined }));
    await store.create(task('d', { runner: 'two' }));
    await store.create(task('e', { status: 'completed' }));
    await store.create(task('f', { ttlMs: 10 }));
    clock.now += 10;
    const found: string[] = [];
    for await (const { id } of store.unfinished('one')) found.push(id);
    assert.deepEqual(found.toSorted(), ['a', 'b', 'c']);
  });

  return cases;
}

function task(id: string, changes: Partial<TaskRecord> = {}): TaskRecord {
  const record: TaskRecord = {
    id,
    principal: 'ann',
    runner: 'one',
    status: 'working',
    createdAt: BEGIN,
    lastUpdatedAt: BEGIN,
    ttlMs: 60_000,
    pollIntervalMs: 1000,
    ...changes,
  };
  if (record.principal === undefined) delete (record as { principal?: string }).principal;
  return record;
}
