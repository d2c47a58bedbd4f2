import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { root } from '../../test/support/process.ts';
import { filesShownIn } from '../../test/support/shown.ts';

const pages = ['official-sdk-1', 'official-sdk-2'];

describe.each(pages)('the page about moving from %s', (page) => {
  const files = filesShownIn(`docs/moving/${page}.md`);

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });

  test('shows every region of the server and of the client before and after', () => {
    const shown = files.map(({ file }) => file);
    for (const each of ['notes', 'client'].map((folder) => `examples/moving/${folder}/${page}.ts`)) {
      const text = readFileSync(root + each, 'utf8');
      const regions = Array.from(text.matchAll(/\/\/ #region (\S+)/g), ([, name]) => name!);
      expect(shown).toEqual(expect.arrayContaining(regions.map((name) => `${each}#${name}`)));
      const after = regions.filter((name) => shown.includes(`${each.replace(page, 'everwire')}#${name}`));
      expect(after.length).toBeGreaterThan(2);
    }
  });
});
