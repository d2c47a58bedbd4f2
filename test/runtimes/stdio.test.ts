import { describe, expect, onTestFinished, test } from 'vitest';
import { node } from '../support/command-line.ts';
import { root, startProgram } from '../support/process.ts';
import { runtimes } from './runtime.ts';

describe.each(runtimes)('a child of $name', ({ command }) => {
  test.skipIf(command === undefined)('that does not read: what waits for it is bounded', async () => {
    const [program = '', ...args] = command!;
    const flood = startProgram(program, [...args, `${root}test/fixtures/unread-child.mjs`, node]);
    onTestFinished(async () => void (await flood.stop()));
    await flood.exited;
    // Notifications may use half of `maxPendingBytes`.
    expect(flood.stdout).toEqual(['The peer does not read: more than 2000000 bytes are waiting']);
  });
});
