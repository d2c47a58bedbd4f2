import assert from 'node:assert/strict';
import { IN_USE, SessionStoreFull, type SessionRecord, type SessionStore } from '../../store/session-store.ts';
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
      share: 'of ann',
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
    const first = await store.change('s', (before) => {
      assert.deepEqual(before, {});
      return { ...before, logLevel: 'error' };
    });
    assert.deepEqual(first, { logLevel: 'error' });
    const second = await store.change('s', (before) => {
      assert.deepEqual(before, { logLevel: 'error' });
      return { ...before, resources: ['a:1'] };
    });
    assert.deepEqual(second, { logLevel: 'error', resources: ['a:1'] });
    assert.deepEqual(await store.get('s'), { ...record('one'), ...second });
  });

  define('the place of the own stream is a setting', {}, async (store) => {
    await store.put('s', { ...record('one'), own: { reader: 'a' } });
    assert.deepEqual(await store.get('s'), { ...record('one'), own: { reader: 'a' } });
    const own = { reader: 'b', after: '0-1' };
    assert.deepEqual(await store.change('s', (before) => ({ ...before, own })), { own });
    assert.deepEqual(await store.get('s'), { ...record('one'), own });
  });

  define('a session that is stored already stays as it is, also if two put it back at once', {}, async (store) => {
    await store.put('s', { ...record('one'), logLevel: 'error' });
    await store.put('s', record('two'));
    assert.deepEqual(await store.get('s'), { ...record('one'), logLevel: 'error' });
    const subscribe = (uri: string) =>
      store.change('t', ({ resources = [], ...rest }) => ({ ...rest, resources: [...resources, uri] }));
    assert.equal(await subscribe('a:1'), undefined);
    assert.equal(await subscribe('a:2'), undefined);
    for (const uri of ['a:1', 'a:2']) {
      await store.put('t', record('three'));
      await subscribe(uri);
    }
    assert.deepEqual((await store.get('t'))?.resources, ['a:1', 'a:2']);
  });

  define('a session that has expired or was deleted is stored anew', { maxAge: 1000 }, async (store, clock) => {
    await store.put('s', { ...record('one'), logLevel: 'error' });
    clock.now += 1001;
    await store.put('s', record('two'));
    assert.deepEqual(await store.get('s'), record('two'));
    await store.delete('s');
    await store.put('s', record('three'));
    assert.deepEqual(await store.get('s'), record('three'));
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

  for (const [measure, bounds] of [
    ['sessions', { maxSessions: 4 }],
    ['bytes', { maxBytes: 4500 }],
  ] as const) {
    const sized = (share: string): SessionRecord => ({ share, initialize: { name: 'x'.repeat(1000) } });

    define(`the share that has most ${measure} loses its oldest session first`, bounds, async (store, clock) => {
      await store.put('a', sized('ann'));
      for (const id of ['b1', 'b2', 'b3', 'b4', 'b5', 'b6']) {
        clock.now += 2 * IN_USE;
        await store.put(id, sized('bob'));
      }
      assert.ok(await store.get('a'), 'of a stranger');
      assert.deepEqual(await storedOf(store, ['b1', 'b2', 'b3', 'b4', 'b5', 'b6']), ['b4', 'b5', 'b6']);
      await store.put('c', sized('cat'));
      assert.deepEqual(await storedOf(store, ['a', 'b4', 'b5', 'b6', 'c']), ['a', 'b5', 'b6', 'c']);
    });

    define(`a session in use is not lost for others if there are no more ${measure}`, bounds, async (store, clock) => {
      for (const id of ['a', 'b', 'c', 'd']) await store.put(id, sized(id));
      clock.now += IN_USE - 1;
      await assert.rejects(store.put('e', sized('e')), SessionStoreFull);
      assert.deepEqual(await storedOf(store, ['a', 'b', 'c', 'd', 'e']), ['a', 'b', 'c', 'd']);
      await store.touch(['a']);
      clock.now += 1;
      await store.put('e', sized('e'));
      assert.deepEqual(await storedOf(store, ['a', 'b', 'c', 'd', 'e']), ['a', 'c', 'd', 'e']);
    });

    define(`one share may have all ${measure} while nobody else wants one`, bounds, async (store) => {
      for (const id of ['a1', 'a2', 'a3', 'a4', 'a5']) await store.put(id, sized('ann'));
      assert.deepEqual(await storedOf(store, ['a1', 'a2', 'a3', 'a4', 'a5']), ['a2', 'a3', 'a4', 'a5']);
      await store.put('b', sized('bob'));
      assert.deepEqual(await storedOf(store, ['a2', 'a3', 'a4', 'a5', 'b']), ['a3', 'a4', 'a5', 'b']);
    });
  }

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

async function storedOf(store: SessionStore, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const id of ids) if (await store.get(id)) found.push(id);
  return found;
}

function record(name: string): SessionRecord {
  return { initialize: { name } };
}
