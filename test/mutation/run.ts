import { Stryker } from '@stryker-mutator/core';
import { files } from './files.ts';

/** Mutates each file whose path holds one of the arguments, or all of them, and says at the end how many mutants were noticed. */
const { argv, env } = process;
const wanted = argv.slice(2);
const chosen = Object.entries(files).filter(
  ([file]) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
);

const rows: string[] = [];
for (const [file, tests] of chosen) {
  env['MUTATION_TESTS'] = JSON.stringify(tests);
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
    // It would be rewritten with the API of TypeScript 6; nothing has to be.
    tsconfigFile: 'none.json',
  }).runMutationTest();
  const count = (...statuses: readonly string[]): number =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const noticed = count('Killed', 'Timeout');
  const all = noticed + count('Survived', 'NoCoverage');
  rows.push(`| ${file} | ${noticed} of ${all} | ${((noticed / all) * 100).toFixed(1)} % | ${count('Ignored')} |`);
}
console.log(['| File | Noticed | Score | Left out |', '| --- | --- | --- | --- |', ...rows].join('\n'));
