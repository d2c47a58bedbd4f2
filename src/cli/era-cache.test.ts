import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fileEraCache } from './era-cache.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-era-cache-'));
  file = path.join(folder, 'everwire', 'era-cache.json');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const modern = { era: 'modern', route: 'streamable-http' } as const;
const legacy = { era: 'legacy', route: 'connection' } as const;

test('what was set is there for another run, and newer in place of older', async () => {
  const store = fileEraCache(file);
  expect(await store.get('a')).toBeUndefined();
  await store.set('a', modern);
  await store.set('b', modern);
  await store.set('a', legacy);
  expect(await fileEraCache(file).get('a')).toEqual(legacy);
  expect(await fileEraCache(file).get('b')).toEqual(modern);
});

test('the same command in another directory is another server', async () => {
  await fileEraCache(file, '/one').set('node server.js', legacy);
  expect(await fileEraCache(file, '/other').get('node server.js')).toBeUndefined();
  expect(await fileEraCache(file, '/one').get('node server.js')).toEqual(legacy);
});

test('nobody reads in it which servers these are, and nothing else is left behind', async () => {
  await fileEraCache(file).set('https://example.com/secret', modern);
  expect(readFileSync(file, 'utf8')).not.toContain('example');
  expect(readdirSync(path.dirname(file))).toEqual(['era-cache.json']);
});

test.skipIf(process.platform === 'win32')('it is for its owner only', async () => {
  await fileEraCache(file).set('a', modern);
  expect([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
});

test.each([
  ['no JSON', '{"a":'],
  ['no object', '[]'],
  ['of another shape', '{"a":{"era":"modern"},"b":null,"c":{"era":"x","route":"connection","at":1}}'],
  ['larger than it may be', JSON.stringify({ text: 'x'.repeat(1024 * 1024) })],
])('a file that is %s counts as empty, and is replaced', async (_, text) => {
  const store = fileEraCache(file);
  await store.set('a', modern);
  writeFileSync(file, text);
  expect(await store.get('a')).toBeUndefined();
  await store.set('b', legacy);
  expect(await store.get('b')).toEqual(legacy);
});

test('no more than a thousand are kept, the newest', async () => {
  const store = fileEraCache(file);
  await store.set('first', modern);
  const [name, kept] = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as object)[0]!;
  const many = Array.from({ length: 1000 }, (_, n) => [`other${n}`, kept]);
  writeFileSync(file, JSON.stringify(Object.fromEntries([[name, kept], ...many])));
  await store.set('last', legacy);
  expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')) as object)).toHaveLength(1000);
  expect(await store.get('first')).toBeUndefined();
  expect(await store.get('last')).toEqual(legacy);
});

test('after a week it is found out anew', async () => {
  const store = fileEraCache(file);
  await store.set('a', legacy);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 6 * 24 * 3_600_000 });
  expect(await store.get('a')).toEqual(legacy);
  vi.setSystemTime(Date.now() + 24 * 3_600_000);
  expect(await store.get('a')).toBeUndefined();
});

test('who write at once lose nothing of one another', async () => {
  const keys = ['a', 'b', 'c', 'd'];
  await Promise.all(keys.map(async (key) => fileEraCache(file).set(key, modern)));
  const found = await Promise.all(keys.map(async (key) => fileEraCache(file).get(key)));
  expect(found).toEqual(keys.map(() => modern));
});

test('where it cannot be written, it is done without', async () => {
  mkdirSync(file, { recursive: true });
  await fileEraCache(file).set('a', modern);
  expect(await fileEraCache(file).get('a')).toBeUndefined();
  expect(statSync(file).isDirectory()).toBe(true);
});

test('where a file stands in its way, it is done without', async () => {
  writeFileSync(path.join(folder, 'everwire'), '');
  await fileEraCache(file).set('a', modern);
  expect(await fileEraCache(file).get('a')).toBeUndefined();
});
