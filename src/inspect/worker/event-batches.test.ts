import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';
import { wireEvents } from '../wire-events.ts';
import { BatchSlots, memoryFor } from './batch-slots.ts';
import { EventBatches } from './event-batches.ts';
import { readEvents } from './event-format.ts';

const HTTP: WireConnection = { protocol: 'http', role: 'server', peer: '127.0.0.1:1 ä' };
const STDIO: WireConnection = { protocol: 'stdio', role: 'client' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A receiver that reads when it is told to. @param count how many batches it may leave unread. */
function receiver(count = 8) {
  const posted: [slot: number, length: number][] = [];
  const slots = new BatchSlots(memoryFor(count));
  // The receiver is another thread, which has an object of its own.
  const received = new BatchSlots(slots.memory);
  const batches = new EventBatches(slots, (slot, length) => posted.push([slot, length]));
  batches.isRead = true;
  let now = 0;
  const wiretap = wireEvents(() => (now += 1), batches);
  const take = (): Buffer[] => posted.splice(0).map(([slot, length]) => received.read(slot, length));
  return {
    batches,
    wiretap,
    posted,
    take,
    /** Everything that was posted since the last call. */
    read: (): WireEvent[] => take().flatMap((batch) => Array.from(readEvents(batch))),
  };
}

test('events arrive whole and in order, whatever becomes of their bytes', () => {
  const { wiretap, batches, read } = receiver();
  const [http, stdio] = [wiretap.open(HTTP), wiretap.open(STDIO)];
  const chunk = Buffer.from('GET');
  http.bytes('c>s', chunk);
  chunk.fill(0);
  stdio.bytes('stderr', Buffer.from([0xff, 0]));
  http.bytes('c>s', Buffer.from(' /'));
  const large = Buffer.from('0123456789abcdef'.repeat(20_000));
  stdio.bytes('s>c', large);
  stdio.close();
  http.bytes('s>c', Buffer.from('HTTP'));
  batches.end(100);
  const events = read();
  const pieces = events.splice(5, 5).flatMap((event) => (event.layer === 'bytes' ? [event] : []));
  expect(Buffer.concat(pieces.map(({ bytes }) => bytes)).equals(large)).toBe(true);
  expect(pieces.map(({ t, dir, range: [start] }) => [t, dir, start])).toEqual(
    [0, 65_536, 131_072, 196_608, 262_144].map((start) => [6, 's>c', start]),
  );
  expect(events).toEqual([
    { t: 1, layer: 'open', conn: 1, ...HTTP },
    { t: 2, layer: 'open', conn: 2, ...STDIO },
    { t: 3, layer: 'bytes', conn: 1, dir: 'c>s', range: [0, 3], bytes: Buffer.from('GET') },
    { t: 4, layer: 'bytes', conn: 2, dir: 'stderr', range: [0, 2], bytes: Buffer.from([0xff, 0]) },
    { t: 5, layer: 'bytes', conn: 1, dir: 'c>s', range: [3, 5], bytes: Buffer.from(' /') },
    { t: 7, layer: 'close', conn: 2 },
    { t: 8, layer: 'bytes', conn: 1, dir: 's>c', range: [0, 4], bytes: Buffer.from('HTTP') },
  ]);
});

test('sent text arrives as the bytes that are sent', () => {
  const { wiretap, batches, read } = receiver();
  const tap = wiretap.open(HTTP);
  tap.text!('s>c', 'ä', 'latin1');
  tap.text!('s>c', '€\ud800', 'utf8');
  tap.text!('s>c', '', 'utf8');
  tap.bytes('c>s', Buffer.from('GET'));
  const large = '€'.repeat(30_000);
  tap.text!('s>c', large, 'utf8');
  tap.close();
  tap.text!('s>c', 'x', 'utf8');
  batches.end(100);
  const [, ...events] = read();
  expect(events).toMatchObject([
    { t: 2, dir: 's>c', range: [0, 1], bytes: Buffer.from([0xe4]) },
    { t: 3, dir: 's>c', range: [1, 7], bytes: Buffer.from('€\ufffd') },
    { dir: 'c>s', range: [0, 3] },
    { dir: 's>c', range: [7, 65_543], bytes: Buffer.from(large).subarray(0, 65_536) },
    { dir: 's>c', range: [65_543, 90_007] },
    { layer: 'close' },
  ]);
});

test('events of 20 ms are one batch, which is copied to no more memory than it needs', () => {
  const { wiretap, posted, take } = receiver();
  const tap = wiretap.open(STDIO);
  for (let n = 0; n < 10; n += 1) tap.bytes('s>c', Buffer.from('x'));
  vi.advanceTimersByTime(19);
  expect(posted).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(posted).toHaveLength(1);
  const [batch] = take();
  expect(batch!.buffer.byteLength).toBeLessThan(1000);
  expect(Array.from(readEvents(batch!))).toHaveLength(11);
  vi.advanceTimersByTime(1000);
  expect(posted).toEqual([]);
});

test('while nobody reads, only full batches are sent', () => {
  const { wiretap, batches, posted, read } = receiver();
  batches.isRead = false;
  const tap = wiretap.open(STDIO);
  vi.advanceTimersByTime(1000);
  expect(posted).toEqual([]);
  for (let n = 0; n < 18; n += 1) tap.bytes('s>c', Buffer.alloc(60_000, 'x'));
  expect(read()).toHaveLength(18);
  batches.isRead = true;
  expect(read()).toHaveLength(1);
  tap.close();
  vi.advanceTimersByTime(20);
  expect(read()).toMatchObject([{ layer: 'close' }]);
});

test('a receiver that is slower gets few batches, and all of their memory can be used', () => {
  const { wiretap, posted, read } = receiver(2);
  const tap = wiretap.open(STDIO);
  for (let n = 0; n < 1000; n += 1) {
    tap.bytes('s>c', Buffer.from('x'));
    vi.advanceTimersByTime(20);
  }
  expect(posted).toHaveLength(1);
  expect(read()).toHaveLength(2);
  vi.advanceTimersByTime(20);
  expect(read()).toHaveLength(999);
});

test('a receiver that falls behind gets a gap, and the offsets of all bytes stay right', () => {
  const { wiretap, batches, posted, read } = receiver(2);
  const send = (tap: ReturnType<typeof wiretap.open>, dir: WireStream, count: number): void =>
    tap.bytes(dir, Buffer.alloc(count, 'x'));
  const [stays, closes] = [wiretap.open(HTTP), wiretap.open(STDIO)];
  // Seventeen of them fit in a batch.
  for (let n = 0; n < 34; n += 1) send(stays, 'c>s', 60_000);
  stays.text!('c>s', 'x'.repeat(21_000), 'latin1');
  send(stays, 'c>s', 39_000);
  const opens = wiretap.open(STDIO);
  send(opens, 'c>s', 10);
  const passes = wiretap.open(STDIO);
  passes.close();
  closes.close();
  expect(posted).toHaveLength(2);
  expect(read().at(-1)).toMatchObject({ range: [1_980_000, 2_040_000] });
  send(stays, 's>c', 5);
  send(opens, 'c>s', 1);
  send(stays, 'c>s', 1);
  batches.end(100);
  expect(read()).toMatchObject([
    { layer: 'gap', count: 7 },
    { layer: 'close', conn: 2 },
    { layer: 'bytes', conn: 1, dir: 's>c', range: [0, 5] },
    { layer: 'open', conn: 3 },
    { layer: 'bytes', conn: 3, range: [10, 11] },
    { layer: 'bytes', conn: 1, dir: 'c>s', range: [2_100_000, 2_100_001] },
  ]);
});

test('a gap at the end is told too', () => {
  const { wiretap, batches, read } = receiver(1);
  const tap = wiretap.open(STDIO);
  vi.advanceTimersByTime(20);
  tap.bytes('s>c', Buffer.from('x'));
  tap.close();
  const last = batches.end(100);
  expect(read()).toMatchObject([{ layer: 'open' }]);
  expect(Array.from(readEvents(last))).toMatchObject([
    { t: 100, layer: 'gap', count: 2 },
    { t: 100, layer: 'close', conn: 1 },
  ]);
});

test('a receiver that has ended gets nothing', () => {
  const { wiretap, batches, posted } = receiver(1);
  const tap = wiretap.open(STDIO);
  batches.stop();
  tap.bytes('s>c', Buffer.from('x'));
  tap.close();
  vi.advanceTimersByTime(1000);
  expect(posted).toEqual([]);
});
