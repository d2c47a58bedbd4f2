import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { root } from '../support/process.ts';

const WINDOWS = process.platform === 'win32';
const { XDG_CACHE_HOME, EVERWIRE_LANGUAGES_CACHE } = process.env;

/** The folder of what is built. It is outside of the clone, so that all clones share it. */
export const cache =
  EVERWIRE_LANGUAGES_CACHE ?? path.join(XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'everwire-languages');

const source = `${root}test/languages/`;
const suffix = WINDOWS ? '.exe' : '';

/** Programs that are built from the files of a folder. */
export interface Toolchain {
  readonly name: string;
  /** The command that shows that the tools are here, and its oldest version that works. */
  readonly probe: readonly [command: string, ...args: string[]];
  readonly atLeast: readonly [major: number, minor: number];
  /** How to get it. */
  readonly get: string;
  /** The folder of the sources. */
  readonly folder: string;
  /** The commands that build it. The first argument of each is a program. */
  readonly build: (to: string) => readonly (readonly string[])[];
}

/** The folder of a toolchain's programs. */
export function builtBy(name: string): string {
  return path.join(cache, name.toLowerCase());
}

export const pythonProgram = (name: string): string =>
  path.join(builtBy('Python'), WINDOWS ? 'Scripts' : 'bin', name + suffix);
/** A server that needs the SDK 1.x. */
export const oldPythonProgram = (name: string): string =>
  path.join(builtBy('Python'), 'sdk-1', WINDOWS ? 'Scripts' : 'bin', name + suffix);
export const goProgram = (name: string): string => path.join(builtBy('Go'), name + suffix);

export const rustProgram = (name: string): string => path.join(builtBy('Rust'), 'debug', name + suffix);

export const javaProgram = (name: string): readonly string[] => jvmProgram('Java', name);
export const kotlinProgram = (name: string, ...options: readonly string[]): readonly string[] =>
  jvmProgram('Kotlin', name, options);

const jvmProgram = (toolchain: string, name: string, options: readonly string[] = []): readonly string[] => {
  const folder = builtBy(toolchain);
  const classes = [path.join(folder, 'classes'), path.join(folder, 'lib', '*')].join(path.delimiter);
  // It starts sooner with less optimization.
  return ['java', '-XX:TieredStopAtLevel=1', ...options, '-cp', classes, name];
};

/** Whether the programs of a toolchain are here. `run.ts` says so; without it, they have to be. */
export function isHere(name: string): boolean {
  const { EVERWIRE_LANGUAGES } = process.env;
  return EVERWIRE_LANGUAGES === undefined || EVERWIRE_LANGUAGES.split(',').includes(name);
}

export const toolchains: readonly Toolchain[] = [
  {
    name: 'Python',
    probe: ['python3', '--version'],
    atLeast: [3, 11],
    get: 'install Python 3.11 or newer, with venv',
    folder: `${source}python`,
    build: (to) => [...environment(to, 'requirements'), ...environment(path.join(to, 'sdk-1'), 'requirements-1')],
  },
  {
    name: 'Go',
    probe: ['go', 'version'],
    atLeast: [1, 26],
    get: 'install Go 1.26 or newer',
    folder: `${source}go`,
    build: (to) => [
      ['go', 'build', '-C', `${source}go`, '-o', to + path.sep, './server', './client'],
      ['go', 'build', '-C', `${source}go/published`, '-o', to + path.sep, 'tool'],
    ],
  },
  {
    name: 'Rust',
    probe: ['cargo', '--version'],
    atLeast: [1, 88],
    get: 'install Rust 1.88 or newer, with cargo',
    folder: `${source}rust`,
    build: (to) => [
      ['cargo', 'build', '--quiet', '--locked', '--manifest-path', `${source}rust/Cargo.toml`, '--target-dir', to],
    ],
  },
  {
    name: 'Java',
    probe: ['mvn', '--version'],
    atLeast: [3, 8],
    get: 'install Java 17 or newer, and Maven 3.8 or newer',
    folder: `${source}java`,
    build: (to) => [maven('java', to)],
  },
  {
    name: 'Kotlin',
    // Maven gets its compiler.
    probe: ['mvn', '--version'],
    atLeast: [3, 8],
    get: 'install Java 17 or newer, and Maven 3.8 or newer',
    folder: `${source}kotlin`,
    build: (to) => [maven('kotlin', to)],
  },
];

function maven(folder: string, to: string): readonly string[] {
  return ['mvn', '--quiet', '--batch-mode', '-f', `${source}${folder}/pom.xml`, `-Dto=${to}`, 'compile'];
}

/** The commands that make a virtual environment with exactly the packages of a file. */
function environment(folder: string, requirements: string): (readonly string[])[] {
  const python = path.join(folder, WINDOWS ? 'Scripts' : 'bin', `python${suffix}`);
  const install = ['install', '--quiet', '--disable-pip-version-check', '--no-deps', '--require-hashes'];
  return [
    ['python3', '-m', 'venv', '--clear', folder],
    [python, '-m', 'pip', ...install, '-r', `${source}python/${requirements}.txt`],
  ];
}

/** Builds what changed. Returns why the toolchain is skipped, or undefined. @throws Error if the build fails. */
export function prepare(toolchain: Toolchain, say: (line: string) => void): string | undefined {
  const { name, probe, atLeast, get, folder, build } = toolchain;
  const found = run(probe);
  const version = /(\d+)\.(\d+)/.exec(found?.stdout ?? '');
  if (found?.status !== 0 || !version) return `${name} is not here: ${get}`;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  if (major < atLeast[0] || (major === atLeast[0] && minor < atLeast[1]))
    return `${name} ${version[0]} is too old: ${get}`;

  const to = builtBy(name);
  const stamp = `${to}.built`;
  const wanted = fingerprint(folder, found.stdout);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) {
    say(`${name}: built before`);
    return undefined;
  }
  rmSync(stamp, { force: true });
  mkdirSync(to, { recursive: true });
  const started = performance.now();
  for (const command of build(to)) {
    const done = run(command);
    if (done?.status !== 0)
      throw new Error(`${command.join(' ')}\n${done?.stdout ?? ''}${done?.stderr ?? 'could not be started'}`);
  }
  writeFileSync(stamp, wanted);
  say(`${name}: built in ${Math.round((performance.now() - started) / 1000)} s`);
  return undefined;
}

function run([command = '', ...args]: readonly string[]): SpawnSyncReturns<string> | undefined {
  const done = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return done.error ? undefined : done;
}

/** Of all sources, and of the tools that build them. */
function fingerprint(folder: string, version: string): string {
  const hash = createHash('sha256').update(version);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (!/\.(?:go|mod|sum|rs|toml|lock|java|kt|xml|txt)$/.test(name)) continue;
    hash.update(name).update(readFileSync(path.join(folder, name)));
  }
  return hash.digest('hex');
}
