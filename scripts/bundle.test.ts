import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bundledSize } from '../bench/imports.ts';

/** What an import of a built entry point loads: how many files of this package, and which other modules. */
function loadedBy(entry: string): { files: number; others: string[] } {
  const others = new Set<string>();
  const files = loadedFiles(entry, others);
  return { files: files.size, others: [...others].toSorted() };
}

/** The files of this package that an import of a built entry point loads. */
function loadedFiles(entry: string, others = new Set<string>()): Set<string> {
  const files = new Set([path.resolve('dist/lib', entry)]);
  // The loop also visits files that are added while it runs.
  for (const file of files) {
    for (const [, specifier] of readFileSync(file, 'utf8').matchAll(/^(?:import|export)\b[^'"\n]*"([^"\n]+)";$/gm)) {
      if (specifier!.startsWith('.')) files.add(path.resolve(path.dirname(file), specifier!));
      else others.add(specifier!);
    }
  }
  return files;
}

test.each(['server', 'client', 'http', 'memory', 'testing'])(
  'what everwire/%s loads later is loaded one module at a time, because Jest cannot link two that share others',
  (name) => {
    for (const file of loadedFiles(`${name}.js`)) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/Promise\.all\(\[\s*import\("\.[^)]*\),\s*import\(/);
    }
  },
);

const REPLACED = ['#replaced/base/abort-controller', '#replaced/base/after-microtasks', '#replaced/base/few-per-turn'];

test('the command line loads no thread to record in, unless it records', () => {
  expect(loadedBy('cli.js').others).not.toContain('node:worker_threads');
});

test.each([
  [
    'server',
    [...REPLACED, '#replaced/base/in-turns', '#replaced/base/paced', '#replaced/base/short-turns', 'node:events'],
  ],
  ['client', [...REPLACED, '#replaced/base/short-turns', 'node:events']],
  ['memory', [...REPLACED, '#replaced/base/in-turns', 'node:buffer', 'node:events']],
])('an import of everwire/%s loads at most ten files, and no module that only some users need', (name, others) => {
  const loaded = loadedBy(`${name}.js`);
  expect(loaded.others).toEqual(others);
  expect(loaded.files).toBeLessThanOrEqual(10);
});

test.each(['everwire/server', 'everwire/client'])('%s has at most 40 kB when bundled', async (name) => {
  expect(await bundledSize(name)).toBeLessThanOrEqual(40_000);
});
