import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';
import { wireEvents } from '../wire-events.ts';
import { EventBatches } from './event-batches.ts';
import { readEvents } from './event-format.ts';

const HTTP: WireConnection = { protocol: 'http', role: 'server', peer: '127.0.0.1:1 ä' };
const STDIO: WireConnection = { protocol: 'stdio', role: 'client' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A receiver that reads when it is told to. */
function receiver(maxWaiting = Infinity) {
  const posted: Buffer[] = [];
  let waiting = 0;
  const batches = new EventBatches({
    post: (batch) => {
      posted.push(batch);
      waiting += batch.length;
    },
    waiting: () => waiting,
    maxWaiting,
  });
  let now = 0;
  const wiretap = wireEvents(() => (now += 1), batches);
  return {
    batches,
    wiretap,
    posted,
    /** Everything that was posted since the last call. */
    read: (): WireEvent[] => {
      waiting = 0;
      return posted.splice(0).flatMap((batch) => Array.from(readEvents(batch)));
    },
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

test('events of 20 ms are one batch, which holds little more memory than it needs', () => {
  const { wiretap, posted, read } = receiver();
  const tap = wiretap.open(STDIO);
  for (let n = 0; n < 10; n += 1) tap.bytes('s>c', Buffer.from('x'));
  vi.advanceTimersByTime(19);
  expect(posted).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(posted).toHaveLength(1);
  expect(posted[0]!.buffer.byteLength).toBeLessThan(1000);
  expect(read()).toHaveLength(11);
  vi.advanceTimersByTime(1000);
  expect(posted).toEqual([]);
});

test('a receiver that falls behind gets a gap, and the offsets of all bytes stay right', () => {
  const { wiretap, batches, posted, read } = receiver(200_000);
  const send = (tap: ReturnType<typeof wiretap.open>, dir: WireStream, count: number): void =>
    tap.bytes(dir, Buffer.alloc(count, 'x'));
  const [stays, closes] = [wiretap.open(HTTP), wiretap.open(STDIO)];
  for (let n = 0; n < 5; n += 1) send(stays, 'c>s', 60_000);
  const waiting = posted.length;
  send(stays, 'c>s', 1000);
  const opens = wiretap.open(STDIO);
  send(opens, 'c>s', 10);
  const passes = wiretap.open(STDIO);
  passes.close();
  closes.close();
  expect(posted).toHaveLength(waiting);
  const before = read();
  expect(before.at(-1)).toMatchObject({ range: [180_000, 240_000] });
  send(stays, 's>c', 5);
  send(opens, 'c>s', 1);
  send(stays, 'c>s', 1);
  batches.end(100);
  expect(read()).toMatchObject([
    { layer: 'bytes', conn: 1, range: [240_000, 300_000] },
    { layer: 'gap', count: 6 },
    { layer: 'close', conn: 2 },
    { layer: 'bytes', conn: 1, dir: 's>c', range: [0, 5] },
    { layer: 'open', conn: 3 },
    { layer: 'bytes', conn: 3, range: [10, 11] },
    { layer: 'bytes', conn: 1, dir: 'c>s', range: [301_000, 301_001] },
  ]);
});

test('a gap at the end is told too', () => {
  const { wiretap, batches, read } = receiver(0);
  const tap = wiretap.open(STDIO);
  vi.advanceTimersByTime(20);
  tap.bytes('s>c', Buffer.from('x'));
  tap.close();
  batches.end(100);
  expect(read()).toMatchObject([
    { layer: 'open' },
    { t: 100, layer: 'gap', count: 2 },
    { t: 100, layer: 'close', conn: 1 },
  ]);
});
