import assert from 'node:assert/strict';
import { SessionStoreFull, type SessionRecord, type SessionStore } from '../../store/session-store.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** The limits that a test case requires of its store. Defaults should be large: 1 000 sessions, 10 MiB, one hour. */
export interface SessionStoreBounds {
  /** How many sessions there may be. */
  readonly maxSessions?: number;
  /** How many bytes of JSON one record may be. */
  readonly maxRecordBytes?: number;
  /** How many bytes of JSON all records together may be. */
  readonly maxBytes?: number;
  /** How long a session is kept after its last use, in milliseconds. */
  readonly maxAge?: number;
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
}

const BEGIN = 1_700_000_000_000;

/**
 * Test cases for every `SessionStore`.
 *
 * @param open opens an empty store with the given limits. Called once per case. Closing it is up to the caller.
 */
export function sessionStoreSuite(
  open: (bounds: SessionStoreBounds) => SessionStore | Promise<SessionStore>,
): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (
    name: string,
    bounds: SessionStoreBounds,
    run: (store: SessionStore, clock: { now: number }) => Promise<void>,
  ): void => {
    const start = async (): Promise<void> => {
      const clock = { now: BEGIN };
      await run(await open({ now: () => clock.now, ...bounds }), clock);
    };
    cases.push({ name, run: start });
  };

  define('a session is returned as it was stored', {}, async (store) => {
    const given: SessionRecord = {
      principal: 'ann',
      initialize: { clientInfo: { name: 'line\nbreak \u2028 ünï 😀' }, deep: [{ null: null }, [], 1.5, true] },
      logLevel: 'debug',
      resources: ['a:1', 'a:2'],
    };
    await store.put('s', given);
    assert.deepEqual(await store.get('s'), given);
    assert.equal(await store.get('t'), undefined);
    for (const id of ['', '__proto__', 'constructor', 'x'.repeat(1000)]) assert.equal(await store.get(id), undefined);
  });

  define('changing a returned record does not change the stored one', {}, async (store) => {
    await store.put('s', record('one'));
    const read = (await store.get('s'))!;
    read.initialize['name'] = 'changed';
    assert.deepEqual(await store.get('s'), record('one'));
  });

  define('a change is stored and returned', {}, async (store) => {
    await store.put('s', record('one'));
    const expected = { ...record('one'), logLevel: 'error' };
    const changed = await store.change('s', (before) => {
      assert.deepEqual(before, record('one'));
      return { ...before, logLevel: 'error' };
    });
    assert.deepEqual(changed, expected);
    assert.deepEqual(await store.get('s'), expected);
  });

  define('calls for one session take effect in their order', {}, async (store) => {
    const marks = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const stored = store.put('s', record('one'));
    const changes = marks.map((mark) =>
      store.change('s', (before) => ({ ...before, resources: [...(before.resources ?? []), mark] })),
    );
    await Promise.all([stored, ...changes]);
    assert.deepEqual((await store.get('s'))?.resources, marks);
    await Promise.all([store.put('t', record('two')), store.delete('t')]);
    assert.equal(await store.get('t'), undefined);
  });

  define('an unknown session is not changed', {}, async (store) => {
    const change = (): never => assert.fail('nothing is there to change');
    assert.equal(await store.change('s', change), undefined);
    await store.touch(['s']);
    await store.delete('s');
    assert.equal(await store.get('s'), undefined);
  });

  define('if a change throws, the record stays unchanged', {}, async (store) => {
    await store.put('s', record('one'));
    const change = (): never => {
      throw new Error('no');
    };
    await assert.rejects(store.change('s', change), /no/);
    assert.deepEqual(await store.get('s'), record('one'));
  });

  define('a deleted session does not exist any more', {}, async (store) => {
    await store.put('s', record('one'));
    await store.put('t', record('two'));
    await store.delete('s');
    await store.delete('s');
    assert.equal(await store.get('s'), undefined);
    assert.equal(await store.change('s', (before) => before), undefined);
    assert.deepEqual(await store.get('t'), record('two'));
  });

  define('a session expires after its last use', { maxAge: 1000 }, async (store, clock) => {
    await store.put('a', record('one'));
    await store.put('b', record('two'));
    clock.now += 600;
    await store.touch(['b', 'unknown']);
    clock.now += 600;
    assert.equal(await store.get('a'), undefined);
    assert.equal(await store.change('a', (before) => before), undefined);
    assert.deepEqual(await store.get('b'), record('two'));
    clock.now += 600;
    assert.equal(await store.get('b'), undefined);
  });

  define('a full store removes the sessions that were silent the longest', { maxSessions: 2 }, async (store, clock) => {
    await store.put('a', record('one'));
    clock.now += 1;
    await store.put('b', record('two'));
    clock.now += 1;
    await store.touch(['a']);
    clock.now += 1;
    await store.put('c', record('three'));
    assert.equal(await store.get('b'), undefined);
    assert.deepEqual(await store.get('a'), record('one'));
    assert.deepEqual(await store.get('c'), record('three'));
  });

  define('all records together are limited too', { maxBytes: 3000 }, async (store, clock) => {
    for (const id of ['a', 'b', 'c']) {
      clock.now += 1;
      await store.put(id, record('x'.repeat(1000)));
    }
    assert.equal(await store.get('a'), undefined);
    assert.ok(await store.get('b'));
    await store.delete('b');
    await store.put('d', record('x'.repeat(1000)));
    assert.ok(await store.get('c'));
  });

  define('a record that is too large is refused, and the old one is kept', { maxRecordBytes: 500 }, async (store) => {
    await assert.rejects(store.put('s', record('x'.repeat(1000))), SessionStoreFull);
    assert.equal(await store.get('s'), undefined);
    await store.put('s', record('one'));
    await assert.rejects(
      store.change('s', (before) => ({ ...before, resources: ['x'.repeat(1000)] })),
      SessionStoreFull,
    );
    assert.deepEqual(await store.get('s'), record('one'));
  });

  return cases;
}

function record(name: string): SessionRecord {
  return { initialize: { name } };
}
