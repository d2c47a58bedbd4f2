import type { MarkdownEnv, MarkdownOptions } from 'vitepress';
import { anchorOf, siteLink } from './links.ts';

type MarkdownIt = Parameters<NonNullable<MarkdownOptions['config']>>[0];

/** How the markdown of the repository becomes a page. */
export function markdown(version: string): MarkdownOptions {
  return {
    anchor: { slugify: anchorOf },
    // Both keep a contrast of 4.5 to 1 on the background of code.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
    config: (md) => {
      md.core.ruler.push('site_links', (state) => {
        const page = pageOf(state.env);
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === 'link_open' ? token.attrGet('href') : null;
          if (target !== null) token.attrSet('href', siteLink(target, page));
        }
      });
      sayVersion(md, version);
      scrollTables(md);
    },
  };
}

/** Says below the title of each page of the API reference which version it describes. */
function sayVersion(md: MarkdownIt, version: string): void {
  md.core.ruler.push('api_version', (state) => {
    if (!pageOf(state.env).startsWith('api/')) return;
    const title = state.tokens.findIndex(({ type }) => type === 'heading_close');
    const line = new state.Token('html_block', '', 0);
    line.content = `<p class="api-version">Version ${version}</p>\n`;
    state.tokens.splice(title + 1, 0, line);
  });
}

/** Wide tables scroll in a box that the keyboard reaches too. */
function scrollTables(md: MarkdownIt): void {
  md.renderer.rules['table_open'] = () => '<div class="table" tabindex="0"><table>\n';
  md.renderer.rules['table_close'] = () => '</table></div>\n';
}

/** The path of a page from `docs`. Empty for a title in the front matter, which is markdown too. */
function pageOf(env: Partial<MarkdownEnv>): string {
  return env.relativePath ?? '';
}
