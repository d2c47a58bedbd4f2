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
  /** Takes the oldest chunk. */
  const finish = (): void => held.shift()?.();
  /** Takes it, and waits until all pending work is done. */
  const take = async (): Promise<void> => {
    finish();
    await new Promise((resolve) => void setImmediate(resolve));
  };
  return { output, writes, finish, take };
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

test('flushed also waits for data that is written in the next turn', async () => {
  const { output, writes, finish, take } = slow(1000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  void outgoing.send('first');
  const flushed = outgoing.flushed();
  void outgoing.send('second');
  void outgoing.send('third');
  finish();
  finish();
  expect([await settledBy(flushed), writes]).toEqual([false, ['first\n', 'second\n', 'third\n']]);
  await take();
  expect(await settledBy(flushed)).toBe(true);
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

test('what waits takes room from results, of which one in 32 bytes is left for errors', async () => {
  const { output, take } = slow(1);
  const outgoing = new Outgoing(output, 3200, () => {});
  const state = (): number[] => [outgoing.waiting, outgoing.room];
  expect(state()).toEqual([0, 3100]);
  void outgoing.send('x'.repeat(99));
  expect(state()).toEqual([100, 3000]);
  void outgoing.send('x'.repeat(49));
  expect(state()).toEqual([150, 2950]);
  await take();
  expect(state()).toEqual([50, 3050]);
  await take();
  expect(state()).toEqual([0, 3100]);
});

test('exactly the limit may wait, and a line beyond it is refused and never written', async () => {
  const { output, writes, take } = slow(1);
  const outgoing = new Outgoing(output, 10, () => {});
  void outgoing.send('four');
  await expect(outgoing.send('longer')).rejects.toThrow('more than 10 bytes are waiting');
  void outgoing.send('five!');
  await expect(outgoing.send('')).rejects.toThrow('The peer does not read: more than 10 bytes are waiting');
  await take();
  await take();
  expect(writes).toEqual(['four\n', 'five!\n']);
});

test('a line may be limited to a part of what may wait', async () => {
  const outgoing = new Outgoing(slow(1).output, 10, () => {});
  await expect(outgoing.send('sixsix', 0.5)).rejects.toThrow('The message is too large to send: 6 of at most 5 bytes');
  void outgoing.send('five!', 0.5);
  void outgoing.send('four');
  expect(outgoing.waiting).toBe(11);
});

test('a line that never fits is refused with its size, also if nothing waits', async () => {
  const { output, writes } = slow(1);
  const outgoing = new Outgoing(output, 20, () => {});
  const refused = 'The message is too large to send: 11 of at most 10 bytes';
  await expect(outgoing.send('x'.repeat(11), 0.5)).rejects.toThrow(refused);
  void outgoing.send('x'.repeat(10), 0.5);
  expect(writes).toEqual([`${'x'.repeat(10)}\n`]);
});

test('64 KiB of text do not wait for the next turn', () => {
  const { output, writes } = slow(1_000_000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const half = 'x'.repeat(32 * 1024 - 1);
  void outgoing.send('first');
  void outgoing.send(half);
  void outgoing.send(half.slice(1));
  expect(writes).toEqual(['first\n']);
  void outgoing.send('');
  expect(outgoing.waiting).toBe(6 + 64 * 1024);
  expect(output.writableLength).toBe(outgoing.waiting);
});

test('held lines are written together, when the owner says so', async () => {
  const { output, writes, take } = slow(1000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  outgoing.hold();
  void outgoing.send('first');
  void outgoing.send('second');
  await take();
  expect(writes).toEqual([]);
  outgoing.flush();
  expect(writes).toEqual(['first\nsecond\n']);
  await take();
  void outgoing.send('third');
  expect(writes).toHaveLength(2);
});

test('32 held lines are written before the rest, so that the reader need not wait for all', async () => {
  const { output, writes, take } = slow(1000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  outgoing.hold();
  for (let line = 0; line < 31; line += 1) void outgoing.send('line');
  expect(writes).toEqual([]);
  void outgoing.send('line');
  void outgoing.send('line');
  expect(writes).toEqual(['line\n'.repeat(32)]);
  await take();
  outgoing.flush();
  expect(writes).toEqual(['line\n'.repeat(32), 'line\n']);
});

test('a line is taken when the reader has taken it, or at once if there is room for it', async () => {
  const { output, take } = slow(10);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  expect(await settledBy(outgoing.send('1234'))).toBe(true);
  await new Promise(setImmediate);
  const [full, waiting] = [outgoing.send('5678'), outgoing.send('9')];
  expect([await settledBy(full), await settledBy(waiting)]).toEqual([false, false]);
  await take();
  expect([await settledBy(full), await settledBy(waiting)]).toEqual([false, false]);
  await take();
  expect([await settledBy(full), await settledBy(waiting)]).toEqual([true, true]);
});

test('a line waits for nobody if it was written at once, even if the stream says that it is full', async () => {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  // As some runtimes do for a line that is longer than the buffer.
  Object.defineProperty(output, 'writableNeedDrain', { value: true });
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const before = sendBudget.bytes;
  const sent = outgoing.send('first');
  expect(sendBudget.bytes).toBe(before);
  await sent;
  expect(() => output.emit('drain')).not.toThrow();
});

test('the lines that wait count 390 bytes each, those that are written only their text', async () => {
  const { output, take } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const before = sendBudget.bytes;
  const counted = (): number => sendBudget.bytes - before;
  void outgoing.send('first');
  expect(counted()).toBe(6 + 390);
  void outgoing.send('second');
  expect(counted()).toBe(13 + 780);
  await take();
  expect(counted()).toBe(7);
  void outgoing.send('third');
  expect(counted()).toBe(13 + 390);
  outgoing.close(new Error('over'));
  expect(counted()).toBe(0);
});

test('after the end nothing is written or counted, and the first reason stays', async () => {
  const { output, writes, take } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const before = sendBudget.bytes;
  void outgoing.send('first');
  void outgoing.send('second').catch(() => {});
  const reason = new Error('over');
  outgoing.close(reason);
  outgoing.close(new Error('later'));
  await take();
  outgoing.flush();
  expect([writes, outgoing.waiting, sendBudget.bytes]).toEqual([['first\n'], 0, before]);
  await expect(outgoing.send('third')).rejects.toMatchObject({ cause: reason });
});

test('nobody waits for what is written after the end', async () => {
  const { output, writes } = slow(1000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  outgoing.hold();
  void outgoing.send('first');
  outgoing.close(new Error('over'));
  expect(await settledBy(outgoing.flushed())).toBe(true);
  outgoing.flush();
  expect([writes, outgoing.waiting]).toEqual([[], 0]);
});

test('a line whose write ends the connection does not wait for the reader', async () => {
  const output = new Writable({ highWaterMark: 1, write: () => outgoing.close(new Error('over')) });
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const before = sendBudget.bytes;
  expect(await settledBy(outgoing.send('last'))).toBe(true);
  expect(sendBudget.bytes).toBe(before);
});

test('lines that waited are not counted if writing them ends the connection', async () => {
  const taken: (() => void)[] = [];
  const output = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => {
      if (taken.push(done) === 2) outgoing.close(new Error('over'));
    },
  });
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  const before = sendBudget.bytes;
  void outgoing.send('first');
  const waiting = outgoing.send('second');
  taken[0]!();
  expect(await settledBy(waiting)).toBe(true);
  expect(sendBudget.bytes).toBe(before);
});

test('lines go to the stream also if others replace its `write` later', () => {
  const { output, writes } = slow(1000);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  output.write = () => expect.unreachable();
  void outgoing.send('first');
  expect(writes).toEqual(['first\n']);
});

test('text beyond U+00FF that waits counts as two bytes for each character', async () => {
  const { output } = slow(1);
  const outgoing = new Outgoing(output, 1_000_000, () => {});
  void outgoing.send('first');
  await new Promise((resolve) => void setImmediate(resolve));
  const before = outgoing.waiting;
  void outgoing.send('x'.repeat(10_000));
  expect(outgoing.waiting - before).toBe(10_001);
  void outgoing.send('\u4e2d');
  expect(outgoing.waiting - before).toBe(20_006);
});
