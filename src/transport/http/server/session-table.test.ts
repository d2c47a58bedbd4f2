import { afterEach, describe, expect, test, vi } from 'vitest';
import { SessionTable, type TableSession } from './sessions.ts';

afterEach(() => void vi.useRealTimers());

interface TestSession extends TableSession {
  connected: boolean;
  lastSeen: number;
}

const nobody = { principal: undefined, address: undefined };

function opened(idleTimeout: number) {
  const errors: Error[] = [];
  const table = new SessionTable<TestSession>({ maxSessions: 2, idleTimeout, onerror: (error) => errors.push(error) });
  const open = (id: string, close = () => Promise.resolve(), owner = nobody): TestSession => {
    const end = (): Promise<void> => {
      table.delete(id);
      return close();
    };
    const session = { connected: false, lastSeen: performance.now(), close: end, retire: end };
    table.add(id, session, owner);
    return session;
  };
  return { table, open, errors };
}

describe('a session', () => {
  test('ends after its idle timeout, or at most a quarter later', () => {
    vi.useFakeTimers({ now: 0 });
    const { table, open } = opened(1000);
    open('a');
    vi.advanceTimersByTime(999);
    expect(table.size).toBe(1);
    vi.advanceTimersByTime(1);
    expect(table.size).toBe(0);
    vi.advanceTimersByTime(1);
    open('b');
    vi.advanceTimersByTime(100);
    open('c');
    vi.advanceTimersByTime(1149);
    expect([table.get('b'), table.get('c') !== undefined]).toEqual([undefined, true]);
    vi.advanceTimersByTime(101);
    expect([table.size, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('does not end because the clock is set forward', () => {
    vi.useFakeTimers({ now: 0 });
    const { table, open } = opened(1000);
    open('a');
    vi.setSystemTime(3_600_000);
    vi.advanceTimersByTime(999);
    expect(table.size).toBe(1);
  });

  test('with an open connection does not expire', () => {
    vi.useFakeTimers({ now: 0 });
    const { table, open } = opened(1000);
    open('a').connected = true;
    vi.advanceTimersByTime(10_000);
    expect(table.size).toBe(1);
  });

  test('ends in its turn if thousands were idle for as long, unless it is used before', async () => {
    vi.useFakeTimers({ now: 0, toFake: ['setInterval', 'clearInterval', 'performance'] });
    const { table, open } = opened(1000);
    const all = Array.from({ length: 3000 }, (_, n) => open(`${n}`));
    vi.advanceTimersByTime(1000);
    expect(table.size).toBeGreaterThan(0);
    expect(table.size).toBeLessThan(3000);
    all.at(-1)!.lastSeen = performance.now();
    await vi.waitFor(() => expect(table.size).toBe(1));
  });

  test('is removed even if closing it fails, and the error is reported', async () => {
    vi.useFakeTimers({ now: 0 });
    const { open, errors } = opened(1000);
    open('a', () => Promise.reject(new Error('broken')));
    await vi.advanceTimersByTimeAsync(1000);
    expect(errors).toEqual([new Error('broken')]);
  });

  test('does not keep the process alive', () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const { table, open } = opened(1000);
    open('a');
    expect(timers()).toBe(before);
    table.delete('a');
  });
});

test('a full table closes the session that was idle the longest, if for at least a minute', () => {
  vi.useFakeTimers({ now: 0 });
  const { table, open } = opened(1_000_000);
  expect(table.makeRoom(nobody)).toBe(true);
  const first = open('first');
  const second = open('second');
  first.lastSeen = 1;
  vi.advanceTimersByTime(59_999);
  expect([table.makeRoom(nobody), table.size]).toEqual([false, 2]);
  vi.advanceTimersByTime(1);
  expect([table.makeRoom(nobody), table.get('first'), table.get('second')]).toEqual([true, first, undefined]);
  open('third').lastSeen = performance.now();
  first.connected = true;
  vi.advanceTimersByTime(140_000);
  expect([table.makeRoom(nobody), table.get('first'), table.get('third')]).toEqual([true, first, undefined]);
  expect(second.lastSeen).toBe(0);
});
