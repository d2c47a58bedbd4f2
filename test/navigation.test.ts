import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { navigation, type Entry } from '../docs/.vitepress/navigation.ts';
import { root } from './support/process.ts';

function pagesIn(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ page, items = [] }) => [...(page === undefined ? [] : [page]), ...pagesIn(items)]);
}

test('the navigation of the documentation site has each page once', () => {
  const pages = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md') && name !== 'index.md');
  expect(pagesIn(navigation).toSorted()).toEqual(pages.toSorted());
});
