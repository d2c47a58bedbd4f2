import { posix } from 'node:path';

export const REPOSITORY = 'https://github.com/everwire/everwire';

/** The page that shows the changelog, which is outside `docs`. */
const CHANGELOG = { file: 'CHANGELOG.md', page: 'changelog.md' };

/**
 * Where a link of a page leads on the site. In the sources, links are paths between files, which work on GitHub and in
 * editors. A file without a page leads to the repository.
 *
 * @param target as in the markdown
 * @param page the path of the page that has the link, from `docs`
 */
export function siteLink(target: string, page: string): string {
  if (/^([a-z][a-z\d+.-]*:|[/#])/i.test(target)) return target;
  const [, file = '', rest = ''] = /^([^?#]*)(.*)$/s.exec(target) ?? [];
  const folder = page === CHANGELOG.page ? '.' : posix.join('docs', posix.dirname(page));
  const path = posix.join(folder, file);
  const linked = path === CHANGELOG.file ? `docs/${CHANGELOG.page}` : path;
  if (!linked.startsWith('docs/')) return `${REPOSITORY}/blob/main/${path}${rest}`;
  const relative = posix.relative(posix.dirname(page), linked.slice('docs/'.length));
  return pageFile(relative.startsWith('.') ? relative : `./${relative}`) + rest;
}

/** A folder's README is the page of the folder. */
export function pageFile(file: string): string {
  return file.replace(/(^|\/)README\.md$/, '$1index.md');
}

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
