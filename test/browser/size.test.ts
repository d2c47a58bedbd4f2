import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const FOLDER = path.join(import.meta.dirname, '../../dist/page');

function sizeOf(file: string): number {
  return gzipSync(readFileSync(path.join(FOLDER, file)), { level: 9 }).length;
}

test('the page is small: its first scripts have at most 90 kB, and all of it 250 kB', () => {
  const html = readFileSync(path.join(FOLDER, 'index.html'), 'utf8');
  const first = [...html.matchAll(/(?:src|modulepreload" crossorigin href)="\.\/([^"]+\.js)"/g)].map(
    ([, file]) => file!,
  );
  expect(first.length).toBeGreaterThan(0);
  expect(first.reduce((sum, file) => sum + sizeOf(file), 0)).toBeLessThanOrEqual(90_000);
  const all = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => path.extname(file) !== '');
  expect(all.reduce((sum, file) => sum + sizeOf(file), 0)).toBeLessThanOrEqual(250_000);
});
