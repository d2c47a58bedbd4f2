import { mergeConfig } from 'vitest/config';
import type { Reporter, Vitest } from 'vitest/node';
import base from '../../vitest.config.ts';

/** The tests for one file of `files.ts`, which `run.ts` sets. */
const { MUTATION_TESTS = '[]' } = process.env;

let vitest: Vitest;
/** Gives a test file that cannot be loaded one failed test: Stryker looks only at tests, and would see no failure. */
const loadFailures: Reporter = {
  onInit(started) {
    vitest = started;
  },
  onTestRunEnd() {
    for (const file of vitest.state.getFiles()) {
      if (file.result?.state === 'fail' && file.tasks.length === 0) {
        file.tasks.push({ type: 'test', name: 'can be loaded', file, mode: 'run', result: file.result } as never);
      }
    }
  },
};

const config = mergeConfig(base, {
  test: {
    reporters: [loadFailures],
    // Timeouts are shorter than elsewhere, so that a mutant that hangs is noticed soon.
    testTimeout: 5_000,
    hookTimeout: 5_000,
  },
});
config.test.include = JSON.parse(MUTATION_TESTS) as string[];
export default config;
