import { spawnSync } from 'node:child_process';
import { root } from '../support/process.ts';

/** A runtime other than Node that runs the built package. */
export interface Runtime {
  readonly name: 'Bun' | 'Deno';
  /** The program and its arguments, before the script. Undefined if it is not here. */
  readonly command: readonly string[] | undefined;
}

const suffix = process.platform === 'win32' ? '.exe' : '';
const { arch } = process;

/**
 * The npm packages of the binaries. Scripts of `bun` and `deno` move them into these packages, and without scripts they
 * stay in the packages of their platform.
 */
const BUN = [
  'bun/bin/bun.exe',
  ...['linux', 'darwin', 'windows'].map(
    (os) => `@oven/bun-${os}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun${suffix}`,
  ),
];
const DENO = [
  `deno/deno${suffix}`,
  ...[`linux-${arch}-glibc`, `darwin-${arch}`, `win32-${arch}`].map((platform) => `@deno/${platform}/deno${suffix}`),
];

export const runtimes: readonly Runtime[] = [
  { name: 'Bun', command: found('Bun', [...BUN.map(installed), 'bun']) },
  { name: 'Deno', command: found('Deno', [...DENO.map(installed), 'deno'])?.concat('run', '--allow-all') },
];

function installed(file: string): string {
  return `${root}node_modules/${file}`;
}

/** The first program that runs. If there is none, the reason is printed, and the tests should be skipped. */
function found(name: string, programs: readonly string[]): string[] | undefined {
  const program = programs.find((each) => spawnSync(each, ['--version'], { timeout: 30_000 }).status === 0);
  if (program !== undefined) return [program];
  const advice = `run npm ci, or install ${name}`;
  if (process.env.CI === 'true') throw new Error(`${name} is not here: ${advice}`);
  process.stderr.write(`Tests on ${name} are skipped: ${advice}.\n`);
  return undefined;
}
