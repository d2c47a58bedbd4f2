import { expect, test } from 'vitest';
import { nextTurn } from '../../base/wait.ts';
import { childTransport } from './child.ts';

test('the event loop runs between the starts of many children', async () => {
  const children = Array.from({ length: 12 }, () =>
    childTransport({ command: process.execPath, args: ['-e', 'process.stdin.resume()'], stderr: 'ignore' }),
  );
  let started = false;
  const starting = Promise.all(children.map((child) => child.start())).finally(() => (started = true));
  let turns = 0;
  while (!started) {
    await nextTurn();
    turns += 1;
  }
  await starting;
  await Promise.all(children.map((child) => child.close()));
  expect(turns).toBeGreaterThanOrEqual(11);
});
