import { mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

/** The tests of one part; `run.ts` names them, for a mutant must be noticed by the tests that are meant for it. */
const { MUTATION_TESTS = '[]' } = process.env;

const config = mergeConfig(base, {
  test: {
    // A mutant that hangs is ended by Stryker; one that fails a wait is noticed sooner.
    testTimeout: 5_000,
    hookTimeout: 5_000,
  },
});
config.test.include = JSON.parse(MUTATION_TESTS) as string[];
export default config;
