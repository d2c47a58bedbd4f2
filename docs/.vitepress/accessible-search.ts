import type { UserConfig } from 'vitepress';

type Plugin = NonNullable<NonNullable<UserConfig['vite']>['plugins']>[number];

/** What is wrong in the search dialog of VitePress 1.6 for assistive technology, and what replaces it. */
const REPLACEMENTS: readonly (readonly [string, string])[] = [
  // The box is a dialog. As a button it may contain no field and no links.
  [
    `role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"
      aria-labelledby="localsearch-label"`,
    `role="dialog"
      aria-modal="true"
      aria-label="Search"`,
  ],
  // An option may contain no link, so each link is the option. Its name is its text.
  [
    `:id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"
          >
            <a
`,
    `role="none"
          >
            <a
              :id="'localsearch-item-' + index"
              :aria-selected="selectedIndex === index ? 'true' : 'false'"
              role="option"
`,
  ],
  [`:aria-label="[...p.titles, p.title].join(' > ')"`, ''],
];

/**
 * Mends the search dialog while it is built.
 *
 * @throws Error if the dialog of VitePress has changed
 */
export function accessibleSearch(): Plugin {
  return {
    name: 'accessible-search',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith('/VPLocalSearchBox.vue')) return undefined;
      return REPLACEMENTS.reduce((text, [wrong, right]) => {
        if (!text.includes(wrong)) throw new Error(`The search dialog of VitePress no longer has: ${wrong}`);
        return text.replace(wrong, () => right);
      }, code);
    },
  };
}
