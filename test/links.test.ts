import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from './support/process.ts';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];

const FENCED = /^```[\s\S]*?^```/gm;

function read(page: string): string {
  return readFileSync(root + page, 'utf8').replaceAll(FENCED, '');
}

/** The anchors in a page, as GitHub derives them from headings. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = read(page);
  const anchors = new Set(Array.from(text.matchAll(/<a id="([^"]+)">/g), ([, id]) => id!));
  const seen = new Map<string, number>();
  for (const [, heading] of text.matchAll(/^#+ (.*)$/gm)) {
    const slug = heading!
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}

/** The broken links of a page. */
function brokenLinks(page: string): string[] {
  return Array.from(read(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!).filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = '', anchor] = target.split('#');
    const linked = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
    if (!existsSync(root + linked)) return true;
    return anchor !== undefined && !anchorsOf(linked).has(anchor);
  });
}

describe('links', () => {
  test.each(pages)('of %s are not broken', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
