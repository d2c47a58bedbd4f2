import { spawn } from 'node:child_process';
import { root } from '../support/process.ts';
import { prepare, toolchains } from './toolchains.ts';
import { untestedLines } from './untested.ts';

/**
 * Builds the peers in other languages and runs their tests. Skips the languages whose tools are not here. With `--all`,
 * a skipped language is a failure.
 */
const started = performance.now();
const skipped: string[] = [];
const names: string[] = [];
for (const toolchain of toolchains) {
  const why = prepare(toolchain, console.log);
  if (why === undefined) names.push(toolchain.name);
  else skipped.push(why);
}
for (const why of skipped) console.log(`skipped: ${why}`);
for (const line of untestedLines()) console.log(line);
console.log(`The programs are ready after ${Math.round((performance.now() - started) / 1000)} s`);

const args = [
  'run',
  '--config',
  'test/languages/vitest.config.ts',
  ...process.argv.slice(2).filter((arg) => arg !== '--all'),
];
const tests = spawn(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, EVERWIRE_LANGUAGES: names.join(',') },
});
tests.on('exit', (code) => {
  process.exitCode = code === 0 && process.argv.includes('--all') && skipped.length > 0 ? 1 : (code ?? 1);
});
