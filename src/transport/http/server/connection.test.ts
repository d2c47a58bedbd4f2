import { expect, test } from 'vitest';
import { nextTurn } from '../../../base/wait.ts';
import { SseConnection } from './connection.ts';
import { OpenConnections } from './open-connections.ts';

function open() {
  const writes: string[] = [];
  const connection = new SseConnection(
    {
      write: (text) => writes.push(text) < 2,
      end: () => void writes.push('the end'),
      destroy: () => void writes.push('destroyed'),
      watch: () => {},
      keep: () => {},
      ondrain: undefined,
      onclose: undefined,
    },
    new OpenConnections(0, 1000),
    () => {},
  );
  return { writes, connection };
}

test('texts that may wait are one write with all that follows at once', async () => {
  const { writes, connection } = open();
  connection.write('before;');
  connection.write('a;', true);
  await Promise.resolve().then(() => connection.write('b;', true));
  connection.write('c;');
  expect(writes).toEqual(['before;']);
  await nextTurn();
  expect(writes).toEqual(['before;', 'a;b;c;']);
  expect(connection.full).toBe(true);
});

test('an end comes after all texts', async () => {
  const { writes, connection } = open();
  connection.write('a;', true);
  connection.end();
  await nextTurn();
  expect(writes).toEqual(['a;', 'the end']);
});

test('nothing is written to a reader that was disconnected', async () => {
  const { writes, connection } = open();
  connection.write('a;', true);
  connection.destroy();
  await nextTurn();
  expect(writes).toEqual(['destroyed']);
});
