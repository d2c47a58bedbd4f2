import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OF_KEYS, OTHERS } from './permission-script.ts';

/** What a process goes on without. */
const OPTIONAL = ['CLIENT', 'CLUSTER'];

test('all commands that the sources send are checked, and no others', () => {
  const folder = new URL('.', import.meta.url);
  const sources = readdirSync(folder).filter((name) => name.endsWith('.ts') && !/^permission|\.test\.ts$/.test(name));
  const sent = sources.flatMap((name) => {
    const text = readFileSync(new URL(name, folder), 'utf8');
    return Array.from(text.matchAll(/(?:redis\.p?call\(|\[)'([A-Z]+)'/g), ([, command]) => command!);
  });
  expect(new Set(sent)).toEqual(new Set([...OF_KEYS, ...OTHERS, ...OPTIONAL]));
});
