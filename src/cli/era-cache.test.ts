import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileEraCache } from './era-cache.ts';

let folder: string;
let cache: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-era-cache-'));
  cache = path.join(folder, 'everwire', 'eras');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const modern = { era: 'modern', route: 'streamable-http' } as const;
const legacy = { era: 'legacy', route: 'connection' } as const;

test('an entry is found by another run, and replaces an older one', async () => {
  const store = fileEraCache(cache);
  expect(await store.get('a')).toBeUndefined();
  await store.set('a', modern);
  await store.set('b', modern);
  await store.set('a', legacy);
  expect(await fileEraCache(cache).get('a')).toEqual(legacy);
  expect(await fileEraCache(cache).get('b')).toEqual(modern);
});

test('the same command in another directory is another server', async () => {
  await fileEraCache(cache, '/one').set('node server.js', legacy);
  expect(await fileEraCache(cache, '/other').get('node server.js')).toBeUndefined();
  expect(await fileEraCache(cache, '/one').get('node server.js')).toEqual(legacy);
});

/** The file of the only server in the cache. */
function onlyFile(): string {
  const [name, ...others] = readdirSync(cache);
  expect(others).toEqual([]);
  return path.join(cache, name!);
}

test('the files reveal no server names', async () => {
  await fileEraCache(cache).set('https://example.com/secret', modern);
  expect(onlyFile() + readFileSync(onlyFile(), 'utf8')).not.toContain('example');
});

test.skipIf(process.platform === 'win32')('only its owner can read the file', async () => {
  await fileEraCache(cache).set('a', modern);
  expect([statSync(onlyFile()).mode & 0o777, statSync(cache).mode & 0o777]).toEqual([0o600, 0o700]);
});

test.each([
  ['not JSON', '{"era":'],
  ['not an object', '[]'],
  ['an object of another shape', '{"era":"x","route":"connection"}'],
  ['empty', ''],
])('a file that is %s is ignored and replaced', async (_, text) => {
  const store = fileEraCache(cache);
  await store.set('a', modern);
  writeFileSync(onlyFile(), text);
  expect(await store.get('a')).toBeUndefined();
  await store.set('a', legacy);
  expect(await store.get('a')).toEqual(legacy);
});

test('an entry expires after a week, and the next entry removes its file', async () => {
  const store = fileEraCache(cache);
  await store.set('a', legacy);
  const days = (count: number): Date => new Date(Date.now() - count * 24 * 3_600_000);
  utimesSync(onlyFile(), days(6), days(6));
  expect(await store.get('a')).toEqual(legacy);
  utimesSync(onlyFile(), days(8), days(8));
  expect(await store.get('a')).toBeUndefined();
  await store.set('b', modern);
  expect(readdirSync(cache)).toHaveLength(1);
});

test('simultaneous writers lose nothing', async () => {
  const keys = ['a', 'b', 'c', 'd'];
  await Promise.all(keys.map(async (key) => fileEraCache(cache).set(key, modern)));
  const found = await Promise.all(keys.map(async (key) => fileEraCache(cache).get(key)));
  expect(found).toEqual(keys.map(() => modern));
});

test('no error occurs if a file has the name of the folder', async () => {
  writeFileSync(path.join(folder, 'everwire'), '');
  await fileEraCache(cache).set('a', modern);
  expect(await fileEraCache(cache).get('a')).toBeUndefined();
});

test.skipIf(process.platform === 'win32')('a pipe in place of the file is replaced', async () => {
  const store = fileEraCache(cache);
  await store.set('a', modern);
  const file = onlyFile();
  rmSync(file);
  execFileSync('mkfifo', [file]);
  expect(await store.get('a')).toBeUndefined();
  await store.set('a', modern);
  expect(await store.get('a')).toEqual(modern);
});
