import { Stryker } from '@stryker-mutator/core';
import { files } from './files.ts';

/**
 * Mutates each file whose path contains one of the arguments, or all files, and prints how many mutants the tests
 * noticed.
 */
const { argv, env } = process;
const wanted = argv.slice(2);
const chosen = Object.entries(files).filter(
  ([file]) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
);

const rows: string[] = [];
for (const [file, tests] of chosen) {
  env['MUTATION_TESTS'] = JSON.stringify(tests);
  const started = performance.now();
  const report = `.tmp/mutation/${file.replaceAll('/', '-')}`;
  const mutants = await new Stryker({
    mutate: [file],
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    concurrency: Number(env['MUTATION_CONCURRENCY'] ?? 1),
    timeoutMS: 5_000,
    thresholds: { high: 95, low: 90, break: 90 },
    reporters: ['clear-text', 'json', 'html'],
    clearTextReporter: { logTests: false, reportScoreTable: false, allowColor: false },
    jsonReporter: { fileName: `${report}.json` },
    htmlReporter: { fileName: `${report}.html` },
    tempDirName: '.tmp/stryker',
    ignorePatterns: ['dist', 'docs', 'bench', 'examples', '.tmp'],
    // It would be rewritten with the API of TypeScript 6, but nothing needs that.
    tsconfigFile: 'none.json',
  }).runMutationTest();
  const count = (...statuses: readonly string[]): number =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const noticed = count('Killed', 'Timeout');
  const all = noticed + count('Survived', 'NoCoverage');
  const score = ((noticed / all) * 100).toFixed(1);
  const seconds = Math.round((performance.now() - started) / 1000);
  rows.push(`| ${file} | ${noticed} of ${all} | ${score} % | ${count('Ignored')} | ${seconds} |`);
}
console.log(['| File | Noticed | Score | Left out | Seconds |', '| --- | --- | --- | --- | --- |', ...rows].join('\n'));
