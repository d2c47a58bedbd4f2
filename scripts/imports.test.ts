import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkImports, importsOf } from './imports.ts';

let root: string;
beforeEach(() => void (root = mkdtempSync(path.join(tmpdir(), 'everwire-imports-'))));
afterEach(() => rmSync(root, { recursive: true }));

/** Writes sources, given by their path under `src`, and returns the violations in them. */
function check(files: Record<string, string>): string[] {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, 'src', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return checkImports(root).map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

describe('import directions', () => {
  test('imports from a higher layer to a lower one pass', () => {
    expect(
      check({
        'jsonrpc/a.ts': '',
        'core/b.ts': "import { a } from '../jsonrpc/a.ts';",
        'transport/transport.ts': "import type { a } from '../jsonrpc/a.ts';",
        'wire/legacy/c.ts': "import '../../core/b.ts';\nimport type { T } from '../../transport/transport.ts';",
        'server/d.ts': "const { c } = await import('../wire/legacy/c.ts');",
        'version.ts': '',
        'jsonrpc/e.ts': "import '../version.ts';",
        'cli/main.ts': "import '../server/d.ts';\nimport '../../examples/demo.ts';",
        'index.ts': "export * from './server/d.ts';",
      }),
    ).toEqual([]);
  });

  test.each([
    ['core/b.ts', '../wire/c.ts'],
    ['jsonrpc/b.ts', '../protocol/c.ts'],
    ['transport/http/b.ts', '../../core/c.ts'],
    ['transport/stdio/b.ts', '../http/c.ts'],
    ['wire/legacy/b.ts', '../../transport/memory.ts'],
    ['store/b.ts', '../transport/transport.ts'],
    ['server/b.ts', '../bridge/c.ts'],
    ['testing/b.ts', '../wire/c.ts'],
    ['unheard-of/b.ts', '../jsonrpc/c.ts'],
  ])('%s must not import %s', (file, target) => {
    const [violation, ...others] = check({ [file]: `\n// why\nimport type { x } from '${target}';` });
    expect(violation).toContain(`src/${file}:3: `);
    expect(others).toEqual([]);
  });

  test('a dynamic import counts', () => {
    expect(check({ 'core/b.ts': "\nconst x = () => import('../server/c.ts');" })).toEqual([
      'src/core/b.ts:2: core must not import server/c.ts: it may import base, jsonrpc, schema, protocol',
    ]);
  });

  test('a re-export counts', () => {
    expect(check({ 'core/b.ts': "export {\n  x,\n} from '../server/c.ts';" })[0]).toContain('src/core/b.ts:3: ');
  });

  test('a computed import, an import of this package by name and a file outside the sources are refused', () => {
    const source = "import(name);\nimport 'everwire/server';\nimport x from '../../package.json';";
    expect(check({ 'server/b.ts': source })).toHaveLength(3);
  });

  test('tests may import anything', () => {
    expect(check({ 'core/b.test.ts': "import '../server/c.ts';" })).toEqual([]);
  });

  test('a cycle is found, even through a dynamic import', () => {
    expect(
      check({
        'core/a.ts': "import './b.ts';",
        'core/b.ts': "import './c.ts';",
        'core/c.ts': "\nawait import('./a.ts');",
      }),
    ).toEqual(['src/core/c.ts:2: import cycle: core/a.ts → core/b.ts → core/c.ts → core/a.ts']);
  });
});

describe('reading imports', () => {
  const specifiers = (source: string): (string | undefined)[] => importsOf(source).map(({ specifier }) => specifier);

  test('finds every form of import', () => {
    const source = [
      "import 'a';",
      "import b from 'b';",
      "import * as c from 'c';",
      'import {\n  type D,\n  e,\n} from "d";',
      "export * from 'e';",
      "export * as f from 'f';",
      "const g = await import('g');",
      'type H = import("h").H;',
      "export type { I } from 'i';",
    ].join('\n');
    expect(specifiers(source)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
  });

  test('ignores comments and other statements', () => {
    const source = [
      "// import 'a';",
      "/** `import('b')` from 'c' */",
      "export const d = 'e';",
      "export function from(f: string) { return f; } // import('g')",
      "const url = 'http://x'; await import('h');",
    ].join('\n');
    expect(specifiers(source)).toEqual(['h']);
  });
});
