import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { Outgoing } from './outgoing.ts';

/** A reader that takes what it is given when a test lets it. */
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
  /** Takes the oldest chunk, and all that follows from that happens. */
  const take = async (): Promise<void> => {
    held.shift()?.();
    await new Promise((resolve) => void setImmediate(resolve));
  };
  return { output, writes, take };
}

const settledBy = async (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => true), new Promise<false>((resolve) => void setImmediate(resolve, false))]);

test('a reader that takes all at once is never behind, however much that is', async () => {
  const writes: string[] = [];
  const output = new Writable({
    highWaterMark: 1,
    write: (chunk, _encoding, done) => {
      writes.push(String(chunk));
      done();
    },
  });
  const outgoing = new Outgoing(output, 1_000_000, (write) => write());
  const taken = ['first', 'second', 'third'].map((line) => outgoing.send(line));
  expect(writes).toEqual(['first\n', 'second\n', 'third\n']);
  await Promise.all(taken);
});

test('what is still to be written when the reader has taken the rest is waited for too', async () => {
  const { output, writes, take } = slow(1000);
  const scheduled: (() => void)[] = [];
  const outgoing = new Outgoing(output, 1_000_000, (write) => scheduled.push(write));
  void outgoing.send('first');
  const flushed = outgoing.flushed();
  void outgoing.send('second');
  await take();
  expect([writes, await settledBy(flushed)]).toEqual([['first\n'], false]);
  for (const write of scheduled) write();
  await take();
  expect([writes, await settledBy(flushed)]).toEqual([['first\n', 'second\n'], true]);
});

test('all is written only when the reader has taken the last of it', async () => {
  const { output, writes, take } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, (write) => write());
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

test('who waits for all to be written is let go when nothing more will be', async () => {
  const { output } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, (write) => write());
  const taken = outgoing.send('first');
  void outgoing.send('second').catch(() => {});
  const flushed = outgoing.flushed();
  outgoing.close(new Error('over'));
  expect(await settledBy(flushed)).toBe(true);
  await expect(taken).rejects.toThrow('over');
  await expect(outgoing.send('third')).rejects.toThrow('over');
});
