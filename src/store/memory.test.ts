import { describe, expect, test } from 'vitest';
import { notification } from '../jsonrpc/message.ts';
import { eventLogSuite } from '../testing/event-log-suite.ts';
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

  test('a reader gets all that was there when it came, though it is dropped meanwhile', async () => {
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

  test('the names of streams long gone are forgotten, and no id is given out twice', async () => {
    const log = memoryEventLog({ maxEvents: 1 });
    await log.append('s', 'old', undefined);
    const old = await log.append('s', 'old', undefined);
    for (let n = 0; n < 1001; n++) await log.append('s', `s${n}`, undefined);
    expect(await log.streamOf('s', old)).toBeUndefined();
    expect(await log.streamOf('s', 's0-1')).toBe('s0');
    expect(await log.append('s', 'old', undefined)).toBe('old-3');
    await expect(collect(log, old)).rejects.toThrow(EventsPurged);
  });

  test('a session that went quiet loses its old events when another writes', async () => {
    let now = 0;
    const log = memoryEventLog({ maxAge: 100, now: () => now });
    const id = await log.append('quiet', 'a', undefined);
    await log.append('quiet', 'a', undefined);
    now = 101;
    await log.append('busy', 'a', undefined);
    // The clock is turned back: were the events still there, they would be young again.
    now = 50;
    await expect(collect(log, id, 'quiet')).rejects.toThrow(EventsPurged);
  });

  test('where all sessions together keep too much, the largest give up their oldest', async () => {
    const log = memoryEventLog({ maxTotalBytes: 10_000 });
    const small = await log.append('small', 'a', undefined);
    await log.append('small', 'a', notification('m', { text: 'x'.repeat(100) }));
    const large = await log.append('large', 'a', undefined);
    for (let n = 0; n < 20; n++) await log.append('large', 'a', notification('m', { text: 'x'.repeat(1000) }));
    expect(await collect(log, small, 'small')).toHaveLength(1);
    await expect(collect(log, large, 'large')).rejects.toThrow(EventsPurged);
    // Whoever goes on behind the gap misses nothing more.
    const purged = await collect(log, large, 'large').catch((error: unknown) => error as EventsPurged);
    if (!(purged instanceof EventsPurged)) throw new Error('nothing was dropped');
    const kept = await collect(log, purged.until!, 'large');
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.at(-1)?.id).toBe('a-21');
  });

  test('a message too deep for the call stack can be kept', async () => {
    const log = memoryEventLog();
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
    const id = await log.append('s', 'a', undefined);
    await log.append('s', 'a', notification('m', { deep }));
    expect(await collect(log, id)).toHaveLength(1);
  });

  test('a bound that is no number is refused', () => {
    expect(() => memoryEventLog({ maxBytes: -1 })).toThrow(RangeError);
    expect(() => memoryEventLog({ maxEvents: Number.NaN })).toThrow('maxEvents');
    expect(() => memoryEventLog({ maxAge: Infinity })).not.toThrow();
  });
});

async function collect(log: EventLog, id: string, session = 's'): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  for await (const event of log.after(session, id)) found.push(event);
  return found;
}
