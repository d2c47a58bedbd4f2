import { expect, onTestFinished, test } from 'vitest';
import { Inbox } from './inbox.ts';
import type { Commands } from './commands.ts';

/** Resolves never, as a read does while there are no messages. */
const nothing = new Promise<never>(() => {});

test('large entries are opened in a turn of the event loop each', async () => {
  const text = 'x'.repeat(100_000);
  const entries = Array.from({ length: 5 }, (_, n) => [`${n}-0`, ['m', text, 'k', 'mac']]);
  const replies = [Promise.resolve([['inbox', entries]])];
  const reader = { send: () => replies.shift() ?? nothing, run: () => Promise.resolve([]) };
  let opened = 0;
  const inTurns: number[] = [];
  const inbox = new Inbox({
    node: 'node',
    commands: { key: (name: string) => name } as Commands,
    reader: reader as unknown as Commands,
    timeout: 1000,
    open: () => {
      opened += 1;
      return undefined;
    },
    isUnconditional: () => false,
    handle: () => {},
    onrefused: () => {},
  });
  onTestFinished(() => inbox.close());
  while (opened < entries.length) {
    const before = opened;
    await new Promise(setImmediate);
    inTurns.push(opened - before);
  }
  expect(Math.max(...inTurns)).toBe(1);
});
