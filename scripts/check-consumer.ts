import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Uses the packed package as its users do, without its optional packages: compiles `test/types`, which uses every entry
 * point, with the strictest settings for each way in which TypeScript resolves modules; requires every entry point from
 * CommonJS; runs the server of the README and calls it with the command line.
 */

const EXAMPLE = 'test/types';
/** What a user has installed beside the package and its dependencies. */
const BESIDE = ['@types', 'undici-types', 'zod'];

const failures: string[] = [];
const folder = mkdtempSync(path.join(tmpdir(), 'everwire-consumer-'));
const { dependencies, exports } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, object>;
try {
  const tarball = install();
  check('the types are right for modules (attw)', () =>
    node('node_modules/@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only'),
  );
  cpSync(EXAMPLE, folder, { recursive: true });
  for (const module of ['nodenext', 'esnext']) {
    check(`TypeScript with the module system ${module}`, () =>
      compile({ module, moduleResolution: module === 'esnext' ? 'bundler' : module }),
    );
  }
  checkCommonJs();
  await checkReadme();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.error(`consumer: ${failure}`);
console.error(`${readdirSync(EXAMPLE).length} files of a consumer, ${failures.length} problems.`);
process.exitCode = failures.length === 0 ? 0 : 1;

/** Installs the package as npm would, with its dependencies. */
function install(): string {
  const modules = path.join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      // On Windows npm is a script, which only a shell can start.
      shell: process.platform === 'win32',
    }),
  ) as [{ filename: string }];
  execFileSync('tar', ['-xzf', packed.filename], { cwd: folder });
  renameSync(path.join(folder, 'package'), path.join(modules, 'everwire'));
  // A scope folder is linked as a whole.
  const names = [...Object.keys(dependencies!), ...BESIDE].map((name) => name.split('/')[0]!);
  for (const name of new Set(names))
    symlinkSync(path.resolve('node_modules', name), path.join(modules, name), 'junction');
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  return path.join(folder, packed.filename);
}

/** Node requires modules since 20.19, and TypeScript knows it with `nodenext` and `node20`, but not with `node16`. */
function checkCommonJs(): void {
  const names = Object.entries(exports!).filter(([, target]) => typeof target === 'object');
  const requires = names.map(([name]) => `require(${JSON.stringify(path.posix.join('everwire', name))});\n`);
  writeFileSync(path.join(folder, 'all.cjs'), requires.join(''));
  check('require from CommonJS', () => node(path.join(folder, 'all.cjs')));
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) rmSync(path.join(folder, file));
  writeFileSync(
    path.join(folder, 'commonjs.cts'),
    "import { McpServer } from 'everwire/server';\nexport const server = new McpServer({ name: 'a', version: '1' });\n",
  );
  // Forbids import statements in CommonJS files.
  const commonJs = { verbatimModuleSyntax: false };
  for (const module of ['nodenext', 'node20']) {
    check(`TypeScript in a CommonJS file, ${module}`, () => compile({ ...commonJs, module }));
  }
  check('TypeScript in a CommonJS file, node16: the docs say that it fails', () => {
    if (!/TS1479/.test(outputOf(() => compile({ ...commonJs, module: 'node16' })))) throw new Error('it does not fail');
  });
}

/** The first server of the README, in plain JavaScript. */
async function checkReadme(): Promise<void> {
  const code = /```ts\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8'))![1]!;
  writeFileSync(path.join(folder, 'server.mjs'), code);
  const server = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  try {
    const [line] = (await once(createInterface(server.stderr), 'line')) as [string];
    const url = /http:\S+/.exec(line)?.[0];
    if (url === undefined) throw new Error(`the server of the README printed: ${line}`);
    check('the README', () => {
      const cli = path.join(folder, 'node_modules/everwire/dist/lib/cli.js');
      const printed = node(cli, 'call', url, 'opening_hours');
      if (printed !== 'Monday to Saturday, 9 to 17\n') throw new Error(`call printed ${printed}`);
    });
  } finally {
    server.kill();
  }
}

function compile(resolution: object): void {
  const compilerOptions = {
    target: 'es2023',
    types: ['node'],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
    ...resolution,
  };
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  node('node_modules/typescript/bin/tsc', '-p', folder);
}

function node(...words: string[]): string {
  return execFileSync(process.execPath, words, { encoding: 'utf8', stdio: 'pipe' });
}

function check(what: string, run: () => void): void {
  const output = outputOf(run);
  if (output !== '') failures.push(`${what}:\n${output}`);
}

/** What a failed command printed, or nothing. */
function outputOf(run: () => void): string {
  try {
    run();
    return '';
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return stdout + stderr || message;
  }
}
