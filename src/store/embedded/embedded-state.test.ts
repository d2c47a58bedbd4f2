import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorResponse, notification, resultResponse } from '../../jsonrpc/message.ts';
import { eventLogSuite } from '../../testing/contracts/event-log-suite.ts';
import { sessionStoreSuite } from '../../testing/contracts/session-store-suite.ts';
import { taskStoreSuite } from '../../testing/contracts/task-store-suite.ts';
import type { EventId, EventLog } from '../event-log.ts';
import { EventsPurged } from '../event-log.ts';
import type { TaskRecord } from '../task-store.ts';
import { embeddedState } from './embedded-state.ts';
import type { EmbeddedState, EmbeddedStateOptions } from './embedded-types.ts';

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'everwire-store-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return path.join(made, 'data');
}

async function opened(directory = folder(), options: EmbeddedStateOptions = {}): Promise<EmbeddedState> {
  const state = await embeddedState(directory, options);
  onTestFinished(() => state.close());
  return state;
}

async function methods(log: EventLog, session: string, id: EventId): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { message } of log.after(session, id))
    found.push((message as { method?: string } | undefined)?.method);
  return found;
}

const task = (id: string, changes: Partial<TaskRecord> = {}): TaskRecord => ({
  ...{ id, principal: 'ann', runner: 'one', status: 'working', createdAt: Date.now(), lastUpdatedAt: Date.now() },
  ...{ ttlMs: 60_000, pollIntervalMs: 1000, ...changes },
});

describe('the contract of the event log', () => {
  const suite = eventLogSuite(async (bounds) => (await opened(folder(), { events: bounds })).events);
  for (const { name, run } of suite) test(name, run);
});

describe('the contract of the session store', () => {
  const suite = sessionStoreSuite(async (bounds) => (await opened(folder(), { sessions: bounds })).sessions);
  for (const { name, run } of suite) test(name, run);
});

describe('the contract of the task store', () => {
  const suite = taskStoreSuite(async (bounds) => (await opened(folder(), { tasks: bounds })).tasks);
  for (const { name, run } of suite) test(name, run);
});

describe('after a restart', () => {
  test('sessions are there, in the order of their last use', async () => {
    const directory = folder();
    const clock = { now: 1000 };
    const sessions = { now: () => clock.now, maxSessions: 2 };
    const before = await opened(directory, { sessions });
    await before.sessions.put('a', { principal: 'ann', initialize: { n: 1 } });
    clock.now += 10;
    await before.sessions.put('b', { initialize: { n: 2 } });
    clock.now += 10;
    await before.sessions.touch(['a']);
    await before.sessions.change('a', (settings) => ({ ...settings, logLevel: 'error' }));
    await before.close();
    const { sessions: after } = await opened(directory, { sessions });
    expect(await after.get('a')).toEqual({ principal: 'ann', initialize: { n: 1 }, logLevel: 'error' });
    clock.now += 10;
    await after.put('c', { initialize: {} });
    expect(await after.get('b')).toBeUndefined();
    expect(await after.get('a')).toBeDefined();
  });

  test('streams go on without gap or duplicate', async () => {
    const directory = folder();
    const before = await opened(directory);
    await before.sessions.put('s', { initialize: {} });
    const own = await before.events.open('s', '0');
    const call = await before.events.open('s', '1', [7, 'x']);
    const done = await before.events.open('s', '2', [8]);
    for (const n of [1, 2]) await before.events.append('s', '0', notification(`own ${n}`));
    await before.events.append('s', '1', notification('working'));
    await before.events.append('s', '1', resultResponse(7, {}));
    await before.events.append('s', '2', resultResponse(8, {}));
    await before.close();
    const { events } = await opened(directory);
    expect(await methods(events, 's', own)).toEqual(['own 1', 'own 2']);
    expect(await methods(events, 's', call)).toEqual(['working', undefined]);
    expect(await events.find('s', done)).toEqual({ stream: '2', ended: true });
    expect(await events.unfinished('s')).toEqual([{ stream: '1', requests: ['x'] }]);
    await events.append('s', '1', errorResponse('x', { code: 1, message: 'no' }));
    expect(await events.unfinished('s')).toEqual([]);
    const newest = await events.open('s', '0');
    const next = await events.append('s', '0', notification('own 3'));
    expect(await methods(events, 's', own)).toEqual(['own 1', 'own 2', 'own 3']);
    expect(await methods(events, 's', newest)).toEqual(['own 3']);
    expect(await methods(events, 's', next)).toEqual([]);
  });

  test('a stream with only one event goes on after it', async () => {
    const directory = folder();
    const before = await opened(directory);
    await before.sessions.put('s', { initialize: {} });
    const first = await before.events.open('s', '0');
    await before.close();
    const { events } = await opened(directory);
    const next = await events.append('s', '0', notification('next'));
    expect(next).not.toBe(first);
    expect(await methods(events, 's', first)).toEqual(['next']);
  });

  test('limits and the ids of dropped events still hold', async () => {
    const directory = folder();
    const events = { maxEvents: 3 };
    const before = await opened(directory, { events });
    await before.sessions.put('s', { initialize: {} });
    const quiet = await before.events.open('s', 'quiet');
    const ids: string[] = [];
    for (const n of [1, 2, 3, 4]) ids.push(await before.events.append('s', 'busy', notification(`m${n}`)));
    await before.close();
    const { events: after } = await opened(directory, { events });
    expect(await after.find('s', quiet)).toEqual({ stream: 'quiet', ended: false });
    expect(await methods(after, 's', quiet)).toEqual([]);
    await expect(methods(after, 's', ids[0]!)).resolves.toEqual(['m2', 'm3', 'm4']);
    const next = await after.append('s', 'busy', notification('m5'));
    await expect(methods(after, 's', ids[0]!)).rejects.toThrow(EventsPurged);
    expect([...ids, quiet]).not.toContain(next);
  });

  test('events of a session that is not stored are removed', async () => {
    const directory = folder();
    const before = await opened(directory);
    await before.sessions.put('a', { initialize: {} });
    const kept = await before.events.open('a', '0');
    const gone = await before.events.open('b', '0');
    await before.close();
    const { events } = await opened(directory);
    expect(await events.find('a', kept)).toBeDefined();
    expect(await events.find('b', gone)).toBeUndefined();
  });

  test('a session that is removed loses its events', async () => {
    const { sessions, events } = await opened();
    await sessions.put('s', { initialize: {} });
    const id = await events.open('s', '0');
    await sessions.delete('s');
    expect(await events.find('s', id)).toBeUndefined();
  });

  test('a task that was running says that it has failed, and others are unchanged', async () => {
    const directory = folder();
    const before = await opened(directory);
    await before.tasks.create(task('a', { status: 'input_required', inputRequests: { q: {} } }));
    const done = task('b', { status: 'completed', result: { content: [] }, ttlMs: null });
    await before.tasks.create(done);
    await before.close();
    const { tasks } = await opened(directory);
    const { inputRequests, ...failed } = (await tasks.get('a', 'ann'))!;
    expect(inputRequests).toBeUndefined();
    expect(failed).toMatchObject({
      status: 'failed',
      statusMessage: 'The server was stopped before the task was done',
      error: { code: -32_603, message: 'The server was stopped before the task was done' },
    });
    expect(await tasks.get('b', 'ann')).toEqual(done);
    expect(await tasks.get('a', 'bob')).toBeUndefined();
  });

  test('a task that was running fails in a store that has no room for it any more', async () => {
    const directory = folder();
    const before = await opened(directory);
    await before.tasks.create(task('a'));
    await before.close();
    const { tasks } = await opened(directory, { tasks: { maxBytes: 10, maxTaskBytes: 10 } });
    expect(await tasks.get('a', 'ann')).toMatchObject({ status: 'failed' });
    await expect(tasks.create(task('b'))).rejects.toThrow('must not be larger');
  });

  test('each process has a node id of its own', async () => {
    const directory = folder();
    const before = await opened(directory);
    await before.close();
    expect((await opened(directory)).node).not.toBe(before.node);
  });
});

describe('a directory', () => {
  test('is used by one process at a time', async () => {
    const directory = folder();
    const state = await opened(directory);
    await expect(embeddedState(directory)).rejects.toThrow(`Another process uses the store ${directory}`);
    await state.close();
    await opened(directory);
  });

  test.skipIf(process.platform === 'win32')('that cannot be made is named', async () => {
    await expect(embeddedState('/dev/null/data')).rejects.toThrow(
      'The store /dev/null/data cannot be used: there is no such file or folder',
    );
  });

  test.skipIf(process.platform === 'win32')('with a path that is too long is refused', async () => {
    const directory = path.join(folder(), 'x'.repeat(100));
    await expect(embeddedState(directory)).rejects.toThrow(
      `The store ${directory} cannot be used: its path is too long: use one of at most 86 bytes`,
    );
  });

  const modes = (directory: string): string[] =>
    [directory, ...readdirSync(directory).map((name) => path.join(directory, name))]
      .filter((file) => !statSync(file).isSocket())
      .map((file) => `${path.basename(file)} ${(statSync(file).mode & 0o777).toString(8)}`);

  test.skipIf(process.platform === 'win32')('is closed to other users, with its files', async () => {
    const directory = folder();
    mkdirSync(directory);
    chmodSync(directory, 0o777);
    const expected = ['data 700', 'state.mdb 600', 'state.mdb-lock 600'];
    await (await opened(directory)).close();
    expect(modes(directory)).toEqual(expected);
    for (const file of ['', 'state.mdb', 'state.mdb-lock']) chmodSync(path.join(directory, file), 0o755);
    writeFileSync(path.join(directory, 'damaged.mdb'), '', { mode: 0o644 });
    await opened(directory);
    expect(modes(directory)).toEqual(['data 700', 'damaged.mdb 600', ...expected.slice(1)]);
  });

  test.skipIf(process.platform === 'win32')('with files of others is not closed to them, but refused', async () => {
    const directory = folder();
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    writeFileSync(path.join(directory, 'report.txt'), '');
    await expect(embeddedState(directory)).rejects.toThrow(
      `The store ${directory} cannot be used: others can enter it, and it has other files`,
    );
    expect(readdirSync(directory)).toEqual(['report.txt']);
    chmodSync(directory, 0o700);
    await opened(directory);
  });

  test.skipIf(!existsSync('/proc/self/fd'))('has no open files if the store cannot be opened', async () => {
    const directory = folder();
    await expect(embeddedState(directory, { tasks: { maxTasks: -1 } })).rejects.toThrow(RangeError);
    const files = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return '';
      }
    });
    expect(files.filter((file) => file.startsWith(directory))).toEqual([]);
    await opened(directory);
  });
});

test('an id that is too long for a key is refused, and nothing else', async () => {
  const { sessions, events, tasks } = await opened();
  const long = 'x'.repeat(1901);
  const refused = 'RangeError: An id of 1901 bytes is too long for the store, which takes 1900';
  const settled = await Promise.allSettled([
    ...[sessions.put(long, { initialize: {} }), sessions.put('s', { initialize: {} })],
    ...[events.open(long, '0'), events.open('s', '0')],
    ...[tasks.create(task(long)), tasks.create(task('t'))],
  ]);
  const outcomes = settled.map((result) => (result.status === 'rejected' ? String(result.reason) : 'stored'));
  expect(outcomes).toEqual([1, 2, 3].flatMap(() => [refused, 'stored']));
  await expect(events.open('s', 'y'.repeat(2000))).rejects.toThrow('too long for the store');
  expect([await sessions.get(long), await tasks.get(long, 'ann'), await events.find(long, '0-1')]).toEqual(
    Array.from({ length: 3 }),
  );
  await sessions.put('x'.repeat(1900), { initialize: {} });
  await events.open('x'.repeat(1900), '0');
});
