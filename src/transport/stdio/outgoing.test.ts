import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { sendBudget } from '../../base/send-budget.ts';
import { Outgoing } from './outgoing.ts';

/** A reader that takes a chunk when the test says so. */
function slow(highWaterMark: number) {
  const writes: string[] = [];
  const held: (() => void)[] = [];
  const output = new Writable({
    highWaterMark,
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      writes.push(chunk);
      held.push(done);
    },
  });
  /** Takes the oldest chunk, and waits until all pending work is done. */
  const take = async (): Promise<void> => {
    held.shift()?.();
    await new Promise((resolve) => void setImmediate(resolve));
  };
  return { output, writes, take };
}

const settledBy = async (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => true), new Promise<false>((resolve) => void setImmediate(resolve, false))]);

test('writes a line at once, and joins later lines of the same turn of the event loop', async () => {
  const writes: string[] = [];
  const output = new Writable({
    highWaterMark: 1,
    write: (chunk, _encoding, done) => {
      writes.push(String(chunk));
      done();
    },
  });
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const taken = ['first', 'second', 'third'].map((line) => outgoing.send(line));
  expect(writes).toEqual(['first\n']);
  await Promise.all(taken);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(writes).toEqual(['first\n', 'second\nthird\n']);
  void outgoing.send('fourth');
  expect(writes).toHaveLength(3);
});

test('flushed also waits for data that is written in the meantime', async () => {
  const { output, writes, take } = slow(1000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  void outgoing.send('first');
  const flushed = outgoing.flushed();
  void outgoing.send('second');
  await take();
  expect([writes, await settledBy(flushed)]).toEqual([['first\n', 'second\n'], false]);
  await take();
  expect([writes, await settledBy(flushed)]).toEqual([['first\n', 'second\n'], true]);
});

test('flushed resolves only after the last write was accepted', async () => {
  const { output, writes, take } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  void outgoing.send('first');
  void outgoing.send('second');
  const flushed = outgoing.flushed();
  expect(await settledBy(flushed)).toBe(false);
  await take();
  expect([writes, await settledBy(flushed)]).toEqual([['first\n', 'second\n'], false]);
  await take();
  expect(await settledBy(flushed)).toBe(true);
  expect(await settledBy(outgoing.flushed())).toBe(true);
});

test('flushed resolves when nothing more will be written', async () => {
  const { output } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  void outgoing.send('first');
  void outgoing.send('second').catch(() => {});
  const flushed = outgoing.flushed();
  outgoing.close(new Error('over'));
  expect(await settledBy(flushed)).toBe(true);
});

test('a closed connection refuses the lines that were not written, and says so', async () => {
  const { output, writes } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const written = outgoing.send('first');
  const waiting = outgoing.send('second');
  outgoing.close(new Error('over'));
  const refused = { message: 'over', notExecuted: true, sessionGone: true };
  await written;
  await expect(waiting).rejects.toMatchObject(refused);
  await expect(outgoing.send('third')).rejects.toMatchObject(refused);
  expect(writes).toEqual(['first\n']);
});

test('each line that waits for a slow reader counts more than its text, until the reader has caught up', async () => {
  const { output, take } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const before = sendBudget.bytes;
  for (let n = 0; n < 1000; n += 1) void outgoing.send('x');
  expect(sendBudget.bytes - before).toBeGreaterThan(390_000);
  await take();
  await take();
  expect(sendBudget.bytes).toBe(before);
});
