import { defineConfig, type Plugin } from 'vite';
import { replaceFiles, withEnding } from '../scripts/replace-files.ts';

/** In browsers, `x.browser.ts` replaces `x.ts`. Vite resolves an import itself if no plugin does it before. */
const forBrowsers: Plugin = { ...replaceFiles((file) => withEnding(file, '.browser')), enforce: 'pre' };

/** The page of the inspector. `scripts/bundle-page.ts` builds it into `dist/page`. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [forBrowsers],
  // The page may lie anywhere.
  base: './',
  logLevel: 'warn',
  // A module can load the schema of a revision when it needs it.
  worker: { format: 'es', plugins: () => [forBrowsers] },
  build: {
    target: 'es2022',
    // The first that know `light-dark()` and nesting.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    // The content security policy allows no data URLs.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
