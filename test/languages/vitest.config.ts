import { mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

/** The tests that need the programs of other languages. `run.ts` builds these. */
const config = mergeConfig(base, { test: { exclude: [] } });
config.test.include = ['test/languages/**/*.test.ts'];
config.test.exclude = ['**/node_modules/**'];
export default config;
