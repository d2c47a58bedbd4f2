import { expect, test } from 'vitest';
import type { WireConnection } from '../transport/wiretap.ts';
import { Capture } from './capture.ts';
import type { WireRecord } from './record.ts';

const STDIO: WireConnection = { protocol: 'stdio', role: 'client', peer: 'server' };

/** Everything that a closed capture still has. */
async function all(capture: Capture, after?: number): Promise<WireRecord[]> {
  capture.close();
  const records: WireRecord[] = [];
  for await (const batch of capture.records({ after })) records.push(...batch);
  return records;
}

test('records are numbered, and each part follows the bytes that complete it', async () => {
  const capture = new Capture();
  const tap = capture.open(STDIO);
  const chunk = Buffer.from('{"method":"a"}\nhalf');
  tap.bytes('s>c', chunk);
  // The owner of a chunk may reuse it.
  chunk.fill(0);
  tap.bytes('c>s', Buffer.from('x\n'));
  tap.bytes('s>c', Buffer.from(' a line'));
  tap.close();
  tap.close();
  tap.bytes('s>c', Buffer.from('too late'));
  const records = await all(capture);
  expect(records.map(({ n }) => n)).toEqual(records.map((_, index) => index + 1));
  expect(records.every(({ t }, index) => Number.isInteger(t) && t >= (records[index - 1]?.t ?? 0))).toBe(true);
  const one = { conn: 1, n: expect.any(Number), t: expect.any(Number) };
  const received = { ...one, dir: 's>c' };
  const sent = { ...one, dir: 'c>s' };
  expect(records).toEqual([
    { ...one, layer: 'open', protocol: 'stdio', role: 'client', peer: 'server' },
    { ...received, layer: 'bytes', range: [0, 19], bytes: Buffer.from('{"method":"a"}\nhalf') },
    { ...received, layer: 'line', range: [0, 15] },
    { ...received, layer: 'message', range: [0, 14], kind: 'notification', method: 'a' },
    { ...sent, layer: 'bytes', range: [0, 2], bytes: Buffer.from('x\n') },
    { ...sent, layer: 'line', range: [0, 2] },
    { ...received, layer: 'bytes', range: [19, 26], bytes: Buffer.from(' a line') },
    { ...received, layer: 'line', range: [15, 26], note: 'without a line end' },
    { ...one, layer: 'close' },
  ]);
});

test('large chunks become several records, and secrets are marked in each', async () => {
  const capture = new Capture();
  const head = `GET / HTTP/1.1\r\ncookie: abc\r\n\r\n`;
  capture.open({ protocol: 'http', role: 'server' }).bytes('c>s', Buffer.from(head + 'x'.repeat(100_000)));
  const bytes = (await all(capture)).filter((record) => record.layer === 'bytes');
  expect(bytes.map(({ range, secret }) => ({ range, secret }))).toEqual([
    { range: [0, 65_536], secret: [24, 27] },
    { range: [65_536, head.length + 100_000], secret: undefined },
  ]);
});

test('the oldest records go first, by number and by bytes, and a late reader gets a gap', async () => {
  for (const options of [{ maxRecords: 4 }, { maxBytes: 4 * 1300 }]) {
    const capture = new Capture(options);
    const tap = capture.open({ protocol: 'stdio', role: 'client' });
    for (let n = 0; n < 10; n += 1) tap.bytes('s>c', Buffer.alloc(1000, 'x'));
    const records = await all(capture);
    expect(records.map(({ n, layer }) => [n, layer])).toEqual([[7, 'gap'], ...[8, 9, 10, 11].map((n) => [n, 'bytes'])]);
    expect(records[0]).toEqual({ n: 7, t: records[1]!.t, layer: 'gap', from: 1 });
    expect((await all(capture, 3))[0]).toMatchObject({ from: 4 });
    expect((await all(capture, 7)).map(({ n }) => n)).toEqual([8, 9, 10, 11]);
    expect(await all(capture, 11)).toEqual([]);
  }
});

test('a record that is larger than the limit is kept until the next one', async () => {
  const capture = new Capture({ maxBytes: 100 });
  const tap = capture.open(STDIO);
  tap.bytes('s>c', Buffer.alloc(1000, 'x'));
  expect((await all(capture)).map(({ n, layer }) => [n, layer])).toEqual([
    [1, 'gap'],
    [2, 'bytes'],
  ]);
});

test('readers get new records in batches, and what a slow one missed is a gap', async () => {
  const capture = new Capture({ maxRecords: 5 });
  const fast = capture.records();
  const slow = capture.records();
  const waiting = fast.next();
  const tap = capture.open(STDIO);
  expect((await waiting).value).toMatchObject([{ n: 1 }]);
  expect((await slow.next()).value).toMatchObject([{ n: 1 }]);
  for (let n = 0; n < 3; n += 1) tap.bytes('s>c', Buffer.from('x'));
  expect((await fast.next()).value).toMatchObject([{ n: 2 }, { n: 3 }, { n: 4 }]);
  for (let n = 0; n < 5; n += 1) tap.bytes('s>c', Buffer.from('x'));
  expect((await slow.next()).value).toMatchObject([
    { n: 4, layer: 'gap', from: 2 },
    { n: 5 },
    { n: 6 },
    { n: 7 },
    { n: 8 },
    { n: 9 },
  ]);
  const next = slow.next();
  capture.close();
  expect(await next).toEqual({ value: undefined, done: true });
  tap.bytes('s>c', Buffer.from('x'));
  expect(capture.newest).toBe(9);
});

test('a batch ends after 1 MiB', async () => {
  const capture = new Capture();
  const tap = capture.open(STDIO);
  tap.bytes('s>c', Buffer.alloc(3 * 1024 * 1024, 'x'));
  const { value } = await capture.records().next();
  expect(value!.length).toBeGreaterThan(16);
  expect(value!.length).toBeLessThan(19);
});

test('a batch ends after 1,000 records', async () => {
  const capture = new Capture();
  const tap = capture.open(STDIO);
  for (let n = 0; n < 1500; n += 1) tap.bytes('s>c', Buffer.from('x'));
  const { value } = await capture.records().next();
  expect(value).toHaveLength(1000);
});

test('a reader can be stopped while it waits', async () => {
  const capture = new Capture();
  const controller = new AbortController();
  const next = capture.records({ signal: controller.signal }).next();
  controller.abort();
  expect(await next).toEqual({ value: undefined, done: true });
});
