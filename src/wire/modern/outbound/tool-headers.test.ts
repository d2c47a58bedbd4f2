import { expect, test } from 'vitest';
import { headerCatalog } from './tool-headers.ts';

test('at most a mebibyte is remembered of a server, because a bridge may have many connections to it', () => {
  const catalog = headerCatalog({});
  const names = Array.from({ length: 3 }, (_, n) => `${n}`.repeat(400_000));
  for (const name of names) catalog.learn({ tools: [{ name, inputSchema: { type: 'object' } }] });
  expect(names.map((name) => catalog.known(name) !== undefined)).toEqual([false, true, true]);
});
