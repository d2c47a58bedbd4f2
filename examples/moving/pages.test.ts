import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { root } from '../../test/support/process.ts';
import { filesShownIn } from '../../test/support/shown.ts';

const read = (file: string): string => readFileSync(root + file, 'utf8');

// The files of each page with the other library, and the file that replaces each of them.
const pages = [
  [
    'official-sdk-1',
    ['notes/official-sdk-1.ts', 'client/official-sdk-1.ts'],
    ['notes/everwire.ts', 'client/everwire.ts'],
  ],
  [
    'official-sdk-2',
    ['notes/official-sdk-2.ts', 'client/official-sdk-2.ts'],
    ['notes/everwire.ts', 'client/everwire.ts'],
  ],
  ['fastmcp', ['fastmcp/fastmcp.ts'], ['fastmcp/everwire.ts']],
] as const;

describe.each(pages)('the page about moving from %s', (page, before, after) => {
  const files = filesShownIn(`docs/moving/${page}.md`);
  const shown = files.map(({ file }) => file.replace('examples/moving/', ''));

  test.each(files)('shows $file unchanged', ({ shown: block, actual }) => {
    expect(block).toBe(actual);
  });

  test('shows every part of a program before and after', () => {
    for (const [index, file] of before.entries()) {
      const parts = Array.from(read(`examples/moving/${file}`).matchAll(/\/\/ #region (\S+)/g), ([, name]) => name!);
      const replaced = parts.filter((name) => read(`examples/moving/${after[index]!}`).includes(`#region ${name}\n`));
      expect(replaced.length).toBeGreaterThan(2);
      expect(shown).toEqual(expect.arrayContaining(parts.map((name) => `${file}#${name}`)));
      expect(shown).toEqual(expect.arrayContaining(replaced.map((name) => `${after[index]!}#${name}`)));
    }
  });
});

describe('the page about FastMCP names every', () => {
  const page = read('docs/moving/fastmcp.md');
  const declarations = read('node_modules/fastmcp/dist/FastMCP.d.ts');

  /** The first column of the table below a heading. */
  const listedUnder = (heading: string): string => {
    const [, table = ''] = new RegExp(`^## ${heading}\n\n(\\|[^]*?)\n\n`, 'm').exec(page) ?? [];
    return table.replaceAll(/^\| ([^|]*)\|.*$/gm, '$1');
  };

  test.each([
    ['option of the server', 'Options of the server', /^type ServerOptions<[^]*?^\};/m, 4, 14],
    ['option of a tool', 'Options of a tool', /^type Tool<[^]*?^\};/m, 4, 8],
    ['property of the context', 'The context', /^type Context<[^]*?^\};/m, 4, 8],
    ['option of `start`', 'Options of `start`', /^ {8}httpStream: \{[^]*?^ {8}\};/m, 12, 10],
  ])('%s', (_, heading, declaration, indentation, atLeast) => {
    const [text = ''] = declaration.exec(declarations) ?? [];
    const keys = Array.from(text.matchAll(new RegExp(`^ {${indentation}}(\\w+)\\??:`, 'gm')), ([, key]) => key!);
    expect(keys.length).toBeGreaterThanOrEqual(atLeast);
    const listed = listedUnder(heading);
    expect(keys.filter((key) => !listed.includes(`\`${key}\``))).toEqual([]);
  });
});
