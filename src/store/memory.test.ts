import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { notification, type JsonObject, type Message } from '../jsonrpc/message.ts';
import { jsonWeight } from '../jsonrpc/weight.ts';
import { eventLogSuite } from '../testing/contracts/event-log-suite.ts';
import { EventsPurged, type EventLog, type LoggedEvent } from './event-log.ts';
import { memoryEventLog } from './memory.ts';

describe('the event log contract', () => {
  for (const { name, run } of eventLogSuite((bounds) => memoryEventLog(bounds))) test(name, run);
});

describe('in memory', () => {
  test('ids count from 1 in each stream', async () => {
    const log = memoryEventLog();
    expect(await log.append('s', 'a', undefined)).toBe('a-1');
    expect(await log.append('s', 'b', undefined)).toBe('b-1');
    expect(await log.append('s', 'a', undefined)).toBe('a-2');
  });

  test('a response in a stream that was opened for no request does not end it', async () => {
    const log = memoryEventLog();
    await log.append('s', 'a', undefined);
    const id = await log.append('s', 'a', { jsonrpc: '2.0', id: 1, result: {} });
    expect(await log.find('s', id)).toEqual({ stream: 'a', ended: false });
  });

  test('a reader gets all events that existed when it started, even if they are dropped in the meantime', async () => {
    const log = memoryEventLog({ maxEvents: 3 });
    const id = await log.append('s', 'a', undefined);
    await log.append('s', 'a', notification('two'));
    await log.append('s', 'a', notification('three'));
    const reader = log.after('s', id)[Symbol.asyncIterator]();
    await reader.next();
    for (let n = 0; n < 5; n++) await log.append('s', 'a', undefined);
    expect((await reader.next()).value).toEqual({ id: 'a-3', message: notification('three') });
    expect((await reader.next()).done).toBe(true);
  });

  test('the names of old streams are forgotten, but no id is used twice', async () => {
    const log = memoryEventLog({ maxEvents: 1 });
    await log.append('s', 'old', undefined);
    const old = await log.append('s', 'old', undefined);
    for (let n = 0; n < 1001; n++) await log.append('s', `s${n}`, undefined);
    expect(await log.find('s', old)).toBeUndefined();
    expect((await log.find('s', 's0-1'))?.stream).toBe('s0');
    expect(await log.append('s', 'old', undefined)).toBe('old-3');
    await expect(collect(log, old)).rejects.toThrow(EventsPurged);
  });

  test('a stream that has ended is forgotten with its last event', async () => {
    const log = memoryEventLog({ maxEvents: 1 });
    const early = await log.append('s', 'early', undefined);
    await log.end('s', 'early');
    const late = await log.append('s', 'late', undefined);
    await log.append('s', 'other', undefined);
    expect((await log.find('s', late))?.stream).toBe('late');
    await log.end('s', 'late');
    expect([await log.find('s', early), await log.find('s', late)]).toEqual([undefined, undefined]);
  });

  test('an inactive session loses its old events when another session writes', async () => {
    let now = 0;
    const log = memoryEventLog({ maxAge: 100, now: () => now });
    const id = await log.append('quiet', 'a', undefined);
    await log.append('quiet', 'a', undefined);
    now = 101;
    await log.append('busy', 'a', undefined);
    // The clock is turned back: if the events still existed, they would be recent again.
    now = 50;
    await expect(collect(log, id, 'quiet')).rejects.toThrow(EventsPurged);
  });

  test('if all sessions together store too much, the largest lose their oldest events', async () => {
    const log = memoryEventLog({ maxTotalBytes: 10_000 });
    const small = await log.append('small', 'a', undefined);
    await log.append('small', 'a', notification('m', { text: 'x'.repeat(100) }));
    const large = await log.append('large', 'a', undefined);
    for (let n = 0; n < 20; n++) await log.append('large', 'a', notification('m', { text: 'x'.repeat(1000) }));
    expect(await collect(log, small, 'small')).toHaveLength(1);
    await expect(collect(log, large, 'large')).rejects.toThrow(EventsPurged);
    // A reader that continues after the gap misses nothing more.
    const purged = await collect(log, large, 'large').catch((error: unknown) => error as EventsPurged);
    if (!(purged instanceof EventsPurged)) throw new Error('nothing was dropped');
    const kept = await collect(log, purged.until!, 'large');
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.at(-1)?.id).toBe('a-21');
  });

  test('near the limit, and when other sessions end or expire, nothing is dropped', async () => {
    let now = 0;
    const log = memoryEventLog({ maxTotalBytes: 10_000, maxAge: 100, now: () => now });
    const large = notification('m', { text: 'x'.repeat(4100) });
    const first = async (session: string): Promise<string> => {
      const id = await log.append(session, 'a', undefined);
      await log.append(session, 'a', large);
      return id;
    };
    const one = await first('one');
    const two = await first('two');
    expect(await collect(log, one, 'one')).toHaveLength(1);
    expect(await collect(log, two, 'two')).toHaveLength(1);
    await log.drop('one');
    const three = await first('three');
    expect(await collect(log, two, 'two')).toHaveLength(1);
    // Both are too old now, and are dropped when another session writes.
    now = 101;
    const four = await first('four');
    const five = await first('five');
    for (const [session, id] of Object.entries({ four, five })) expect(await collect(log, id, session)).toHaveLength(1);
    await expect(collect(log, three, 'three')).rejects.toThrow(EventsPurged);
    // Too old again, and one is dropped when it is read.
    now = 150;
    await log.append('other', 'a', undefined);
    now = 202;
    for (const [session, id] of Object.entries({ four, five })) {
      await expect(collect(log, id, session)).rejects.toThrow(EventsPurged);
    }
    const six = await first('six');
    const seven = await first('seven');
    for (const [session, id] of Object.entries({ six, seven })) expect(await collect(log, id, session)).toHaveLength(1);
  });

  test('the total size is that of all stored messages', async () => {
    let now = 0;
    const log = memoryEventLog({ maxAge: 100, now: () => now });
    const message = notification('m', { text: 'x'.repeat(100) });
    const size = await sizeOf(message);
    expect(log.bytes).toBe(0);
    for (const session of ['one', 'two', 'two']) await log.append(session, 'a', message);
    expect(log.bytes).toBe(3 * size);
    await log.drop('one');
    await log.drop('unknown');
    expect(log.bytes).toBe(2 * size);
    now = 101;
    await log.append('one', 'a', undefined);
    expect(log.bytes).toBe(await sizeOf(undefined));
  });

  test('expired events of an active session do not count', async () => {
    let now = 0;
    const log = memoryEventLog({ maxTotalBytes: 10_000, maxAge: 100, now: () => now });
    const text = (length: number): Message => notification('m', { text: 'x'.repeat(length) });
    now = 10;
    await log.append('busy', 'a', text(1700));
    // All sessions are checked, and nothing is too old.
    now = 105;
    const id = await log.append('other', 'a', undefined);
    await log.append('other', 'a', text(3200));
    await log.append('other', 'a', text(3200));
    now = 115;
    await log.append('busy', 'a', text(1700));
    expect(await collect(log, id, 'other')).toHaveLength(2);
  });

  test('above a limit, no more is dropped than necessary', async () => {
    const message = notification('m', { text: 'x' });
    const size = await sizeOf(message);
    const log = memoryEventLog({ maxTotalBytes: 10 * size + 9 * (await sizeOf(undefined)) });
    const ids = new Map<string, string>();
    for (const session of ['large', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) {
      ids.set(session, await log.append(session, 'a', undefined));
      await log.append(session, 'a', message);
    }
    await log.append('large', 'a', message);
    const left = async (): Promise<number[]> => {
      const counts: number[] = [];
      for (const [session, id] of ids) {
        counts.push(
          await collect(log, id, session).then(
            (events) => events.length,
            () => 0,
          ),
        );
      }
      return counts;
    };
    expect(await left()).toEqual([2, 1, 1, 1, 1, 1, 1, 1, 1]);
    // One too many: the largest session drops half of its bytes, then the next drops all. Nine tenths are left.
    await log.append('last', 'a', message);
    expect(await left()).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 1]);
    expect(await collect(log, 'a-2', 'large')).toHaveLength(1);
  });

  test('a stream that is used again after its end is not the first to be forgotten', async () => {
    const log = memoryEventLog({ maxEvents: 1 });
    await log.append('s', 'a', undefined);
    const other = await log.append('s', 'other', undefined);
    const again = await log.append('s', 'a', undefined);
    for (let n = 1; n <= 1000; n++) await log.append('s', `s${n}`, undefined);
    expect((await log.find('s', again))?.stream).toBe('a');
    expect(await log.find('s', other)).toBeUndefined();
  });

  test('a session whose events have all expired continues', async () => {
    let now = 0;
    const log = memoryEventLog({ maxEvents: 2, maxAge: 100, now: () => now });
    const old = await log.append('s', 'a', undefined);
    now = 100;
    expect(await collect(log, old)).toEqual([]);
    await log.append('s', 'a', undefined);
    now = 201;
    await expect(collect(log, old)).rejects.toThrow(EventsPurged);
    for (const id of ['a-3', 'a-4', 'a-5']) expect(await log.append('s', 'a', undefined)).toBe(id);
    expect(await collect(log, 'a-3')).toEqual([
      { id: 'a-4', message: undefined },
      { id: 'a-5', message: undefined },
    ]);
  });

  test('an event of exactly the maximum age is kept', async () => {
    let now = 0;
    const log = memoryEventLog({ maxAge: 100, now: () => now });
    const id = await log.append('s', 'a', undefined);
    await log.append('s', 'a', undefined);
    now = 100;
    expect(await collect(log, id)).toHaveLength(1);
  });

  test('the default clock is that of this process', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const log = memoryEventLog();
    const id = await log.append('s', 'a', undefined);
    await log.append('s', 'a', undefined);
    vi.advanceTimersByTime(600_000);
    expect(await collect(log, id)).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await expect(collect(log, id)).rejects.toThrow('Events after "a-1" are no longer available');
  });

  test.each(['', 'a', 'a1', '1', '-1', 'a-', 'a-01', 'a-1e0', 'a-+1', 'a-1.0', 'a-0', 'a-2', 'b-1', 'a--1'])(
    'the id %j is unknown',
    async (id) => {
      const log = memoryEventLog();
      await log.append('s', 'a', undefined);
      expect((await log.find('s', 'a-1'))?.stream).toBe('a');
      expect(await log.find('s', id)).toBeUndefined();
    },
  );

  test('events without a message count too', async () => {
    const log = memoryEventLog({ maxTotalBytes: 1_000_000 });
    for (let n = 0; n < 10_000; n += 1) await log.append(`session ${n % 10}`, String(n), undefined);
    expect(log.bytes).toBeGreaterThan(800_000);
    expect(log.bytes).toBeLessThanOrEqual(1_000_000);
    const [first, last] = await Promise.all([0, 9999].map((n) => collect(log, `${n}-1`, `session ${n % 10}`)));
    expect([first, last]).toEqual([[], []]);
  });

  test.each<[string, unknown]>([
    ['strings', ['a', 'b']],
    ['long strings', ['x'.repeat(100), 'y'.repeat(100)]],
    ['empty strings', ['', '']],
    ['arrays', [[], []]],
    ['objects', [{}, {}]],
    ['many names', [{ a: '', b: '', c: '' }]],
    ['long names', [{ abcdefghijklmnop: '', bcdefghijklmnopq: '' }]],
    ['numbers', [1234, 5.25]],
    ['null', [null, null]],
    ['booleans', [true, false]],
  ])('the size of a message is about its size in memory: %s', async (_, some) => {
    const message = notification('m', { list: Array.from({ length: 50 }, () => some) });
    const weight = jsonWeight(Buffer.from(JSON.stringify(message)));
    expect(Math.abs((await sizeOf(message)) - weight)).toBeLessThan(weight / 4);
  });

  test('a message just above the limit is not stored', async () => {
    const message = notification('m', { a: ['x', 'y', 'z'] });
    const size = await sizeOf(message);
    for (let maxBytes = 0; maxBytes < size; maxBytes += 1) expect(await keeps(message, maxBytes)).toBe(false);
  });

  test('the rest of a message above the limit is not measured', async () => {
    let looked = 0;
    const element = Object.defineProperty({}, 'text', { enumerable: true, get: () => ((looked += 1), 'x'.repeat(10)) });
    const list = { list: Array.from({ length: 100 }, () => element) } as unknown as JsonObject;
    await memoryEventLog({ maxBytes: 2000 }).append('s', 'a', notification('m', list));
    expect(looked).toBeGreaterThan(0);
    expect(looked).toBeLessThan(50);
  });

  test('a message too deep for the call stack can be stored', async () => {
    const log = memoryEventLog();
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    const id = await log.append('s', 'a', undefined);
    await log.append('s', 'a', notification('m', { deep }));
    expect(await collect(log, id)).toHaveLength(1);
  });

  test('a limit that is not a number is refused', () => {
    expect(() => memoryEventLog({ maxBytes: -1 })).toThrow(RangeError);
    expect(() => memoryEventLog({ maxEvents: Number.NaN })).toThrow('maxEvents');
    expect(() => memoryEventLog({ maxAge: Infinity })).not.toThrow();
    expect(() => memoryEventLog({ maxBytes: 0, maxTotalBytes: 0, maxEvents: 0, maxAge: 0 })).not.toThrow();
  });
});

/** Whether a log with the given limit in bytes stores a message. */
async function keeps(message: Message | undefined, maxBytes: number): Promise<boolean> {
  const log = memoryEventLog({ maxBytes });
  const id = await log.append('s', 'a', undefined);
  await log.append('s', 'a', message);
  return collect(log, id).then(
    (events) => events.length === 1,
    () => false,
  );
}

/** The size that a log computes for a message: that of the smallest log that stores it. */
async function sizeOf(message: Message | undefined): Promise<number> {
  let [low, high] = [0, 1_000_000];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await keeps(message, middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function collect(log: EventLog, id: string, session = 's'): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  for await (const event of log.after(session, id)) found.push(event);
  return found;
}
