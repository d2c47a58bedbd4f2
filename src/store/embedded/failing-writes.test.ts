import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RootDatabase } from 'lmdb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import { eventLogSuite } from '../../testing/contracts/event-log-suite.ts';
import { sessionStoreSuite } from '../../testing/contracts/session-store-suite.ts';
import { taskStoreSuite } from '../../testing/contracts/task-store-suite.ts';
import type { EmbeddedState, EmbeddedStateOptions } from './embedded-types.ts';
import { openDatabase } from './open-database.ts';
import { stateInFile } from './state-in-file.ts';
import { StoreWriteFailed } from './writer.ts';

/** Whether the write with this number fails, as on a full disk. */
type Fails = (write: number) => boolean;

async function opened(fails: Fails, options: EmbeddedStateOptions = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-failing-'));
  const root = await openDatabase(path.join(folder, 'state.mdb'));
  let writes = 0;
  const failing: Pick<RootDatabase, 'openDB' | 'transactionSync' | 'close'> = {
    openDB: root.openDB.bind(root),
    transactionSync: (work) =>
      root.transactionSync(() => {
        const done = work();
        writes += 1;
        if (fails(writes)) throw new Error('No space left on device');
        return done;
      }),
    close: () => root.close(),
  };
  const open = (): Promise<EmbeddedState> =>
    stateInFile(
      failing as RootDatabase<Buffer, string>,
      path.join(folder, 'state.mdb'),
      () => expect.unreachable(),
      options,
      async () => {},
    );
  const state = await open();
  onTestFinished(async () => {
    await state.close();
    rmSync(folder, { recursive: true });
  });
  return { state, open };
}

/** Does again what could not be stored. */
function retrying<Store extends object>(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const run = (...args: unknown[]): unknown => (target as any)[name](...args);
      // A store is awaited, and has no `then`.
      if (!(name in target)) return undefined;
      return (...args: unknown[]) => {
        const again = (error: unknown): unknown => {
          if (!(error instanceof StoreWriteFailed)) throw error;
          return (run(...args) as Promise<unknown>).catch(again);
        };
        const done = run(...args);
        return done instanceof Promise ? done.catch(again) : done;
      };
    },
  });
}

describe.each<[string, Fails]>([
  ['each second write', (write) => write % 2 === 1],
  ['two of three writes', (write) => write % 3 > 0],
])('if %s fails and is done again, the contract holds of', (_, fails) => {
  const events = eventLogSuite(async (bounds) => retrying((await opened(fails, { events: bounds })).state.events));
  for (const { name, run } of events) test(`event logs: ${name}`, run);

  const sessions = sessionStoreSuite(async (bounds) =>
    retrying((await opened(fails, { sessions: bounds })).state.sessions),
  );
  // What is done again comes after the other calls.
  const ordered = sessions.filter(({ name }) => name !== 'calls for one session take effect in their order');
  for (const { name, run } of ordered) test(`session stores: ${name}`, run);

  const tasks = taskStoreSuite(async (bounds) => retrying((await opened(fails, { tasks: bounds })).state.tasks));
  for (const { name, run } of tasks) test(`task stores: ${name}`, run);
});

test('what fails together leaves nothing, and what was there stays', async () => {
  let fails = false;
  const { state, open } = await opened(() => fails, { sessions: { maxSessions: 2 } });
  const { sessions, events, tasks } = state;
  const now = Date.now();
  const task = { id: 'a', runner: 'one', status: 'working', createdAt: now, lastUpdatedAt: now } as const;
  const made = { ...task, ttlMs: null, pollIntervalMs: 1 };
  await sessions.put('a', { initialize: {} });
  await events.open('a', '0');
  fails = true;
  const failed = await Promise.allSettled([
    sessions.change('a', () => ({ logLevel: 'error' })),
    sessions.change('a', () => ({ logLevel: 'debug' })),
    sessions.put('b', { initialize: { n: 1 } }),
    sessions.change('b', () => ({ logLevel: 'debug' })),
    sessions.put('c', { initialize: {} }),
    events.append('a', '0', notification('x')),
    events.open('a', '1'),
    events.end('a', '0'),
    tasks.create(made),
    tasks.update('a', undefined, (before) => ({ ...before, statusMessage: 'x' })),
  ]);
  expect(failed.map(({ status }) => status)).toEqual(failed.map(() => 'rejected'));
  fails = false;
  for (const each of [state, await open()]) {
    expect(await Promise.all(['a', 'b', 'c'].map((id) => each.sessions.get(id)))).toEqual([
      { initialize: {} },
      undefined,
      undefined,
    ]);
    expect(await each.tasks.get('a', undefined)).toBeUndefined();
    expect(await each.events.find('a', '0-1')).toEqual({ stream: '0', ended: false });
    expect(await each.events.find('a', '1-2')).toBeUndefined();
  }
  await tasks.create(made);
  await sessions.put('b', { initialize: {} });
  expect(await sessions.get('a')).toBeDefined();
});
