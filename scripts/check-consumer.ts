import { execFileSync } from 'node:child_process';
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

/**
 * Compiles `test/types`, which uses every entry point, against the packed package, with the strictest settings that a
 * user may have, for each way in which TypeScript resolves modules.
 */

const EXAMPLE = 'test/types';
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];
/** What a user has installed beside the package and its dependencies. */
const PEERS = ['@types', '@opentelemetry', 'undici-types', 'zod'];

const folder = mkdtempSync(path.join(tmpdir(), 'everwire-consumer-'));
let failures = 0;
try {
  install(folder);
  cpSync(EXAMPLE, folder, { recursive: true });
  for (const resolution of RESOLUTIONS) {
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict(resolution) }));
    try {
      execFileSync(process.execPath, [path.resolve('node_modules/typescript/bin/tsc'), '-p', folder], {
        stdio: 'pipe',
      });
    } catch (error) {
      failures += 1;
      console.error(`consumer, ${resolution.moduleResolution}:\n${String((error as { stdout?: Buffer }).stdout)}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.error(`${readdirSync(EXAMPLE).length} files, ${RESOLUTIONS.length} module resolutions, ${failures} problems.`);
process.exitCode = failures === 0 ? 0 : 1;

/** The package as npm would install it, with its dependencies. */
function install(into: string): void {
  const modules = path.join(into, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const shell = process.platform === 'win32';
  const [tarball] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', into], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      shell,
    }),
  ) as [{ filename: string }];
  execFileSync('tar', ['-xzf', tarball.filename], { cwd: into });
  renameSync(path.join(into, 'package'), path.join(modules, 'everwire'));
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
  // A scope folder is linked as a whole.
  const names = [...Object.keys(dependencies), ...PEERS].map((name) => name.split('/')[0]!);
  for (const name of new Set(names))
    symlinkSync(path.resolve('node_modules', name), path.join(modules, name), 'junction');
  writeFileSync(path.join(into, 'package.json'), '{ "type": "module" }');
}

function strict(resolution: object): object {
  return {
    ...resolution,
    target: 'es2023',
    types: ['node'],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
  };
}
