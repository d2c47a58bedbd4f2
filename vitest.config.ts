import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));
const { name, exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  name: string;
  exports: Record<string, string | { types: string }>;
};

/** The package's own name leads to the sources, so that a test never runs yesterday's build. */
const alias = Object.entries(exports).flatMap(([face, target]) => {
  if (typeof target === 'string') return [];
  const source = target.types.replace('./dist/', root).replace(/\.d\.ts$/, '.ts');
  return [{ find: new RegExp(`^${name}${face.slice(1)}$`), replacement: source }];
});

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['{src,examples,test,scripts}/**/*.test.ts', 'page/**/*.test.{ts,tsx}'],
    // These need programs of other languages, which `npm run test:languages` builds.
    exclude: [...configDefaults.exclude, 'test/languages/**'],
    globalSetup: ['test/support/data-folder.ts'],
    setupFiles: ['test/support/patient-waits.ts'],
    // Only what hangs takes so long, on a machine that is busy too.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Many tests start processes of their own and wait for them: fewer workers than this leave two processors idle, and more
    // only wait for each other.
    maxWorkers: 3,
  },
});
