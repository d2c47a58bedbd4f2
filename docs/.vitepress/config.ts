import { readFileSync } from 'node:fs';
import { defineConfig, type DefaultTheme } from 'vitepress';
import { accessibleSearch } from './accessible-search.ts';
import { pageFile, REPOSITORY } from './links.ts';
import { markdown } from './markdown.ts';
import { navigation, type Entry } from './navigation.ts';
import { olderVersions } from './versions.ts';

const root = new URL('../../', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string };
const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync(new URL('page/icon.svg', root), 'utf8'))}`;

/** The documentation site. `--base` of the commands sets the path that it is served under. */
export default defineConfig({
  title: 'Everwire',
  titleTemplate: ':title · Everwire',
  description: 'Every revision and transport of the Model Context Protocol: server, client, bridge and inspector.',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: icon }]],
  outDir: '../dist/site',
  cacheDir: '../node_modules/.cache/vitepress',
  // The third level of this page is each error message.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath === 'errors.md' ? { frontmatter: { ...frontmatter, outline: 2 } } : undefined,
  rewrites: { 'api/README.md': pageFile('api/README.md') },
  markdown: markdown(version),
  vite: {
    plugins: [accessibleSearch()],
    build: {
      // Nesting and `light-dark()`, as in the page of the inspector.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // The text of the largest page.
      chunkSizeWarningLimit: 2000,
    },
  },
  themeConfig: {
    logo: { src: icon, alt: '' },
    nav: [
      { text: 'Start', link: '/start/server', activeMatch: '^/start/' },
      { text: 'Guide', link: '/guide' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: version, items: [{ text: 'Changelog', link: '/changelog' }, ...versionItems()] },
      { text: 'GitHub', link: REPOSITORY },
    ],
    sidebar: navigation.map(sidebarItem),
    outline: [2, 3],
    footer: { message: `Everwire ${version}, MIT license` },
    notFound: {
      title: 'Page not found',
      quote: 'No page of this documentation has this address. The search may find it.',
      linkText: 'Home page',
      linkLabel: 'Home page',
    },
    search: {
      provider: 'local',
      options: {
        // The ledgers repeat the specification. Their many results would hide those of the guides.
        _render: (source, env, md) => (env.relativePath.startsWith('ledger/') ? '' : md.render(source, env)),
      },
    },
  },
});

function versionItems(): DefaultTheme.NavItemWithLink[] {
  return olderVersions.map((older) => ({ text: older.version, link: older.url }));
}

function sidebarItem({ text, page, items }: Entry): DefaultTheme.SidebarItem {
  if (page === undefined) return { text, items: items?.map(sidebarItem) };
  const link = `/${pageFile(page)}`;
  return items === undefined ? { text, link } : { text, link, items: items.map(sidebarItem), collapsed: true };
}
