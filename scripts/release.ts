import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { changesOf, nextVersion, releasedChangelog, releasedLock, releasedManifest } from './release-files.ts';

/**
 * `npm run release -- [major|minor|patch|<version>] [--dry-run]` releases this package and those in `packages`, all with
 * the same version. The default is `minor`. It works in a clone, so nothing here changes:
 *
 * 1. Checks that everything is committed, on `main`, and pushed.
 * 2. Writes the version, makes "Unreleased" in CHANGELOG.md its section, commits and tags.
 * 3. Runs `.ci/run`, and packs the packages.
 * 4. Pushes the commit and the tag, and publishes the packages with provenance.
 *
 * With `--dry-run`, step 4 only shows what it would publish. Without, a workflow has to run it: `release.yml`. If publishing
 * fails, run it again with the same version: it publishes what the registry does not have.
 */

const BRANCH = 'main';

interface Package {
  readonly folder: string;
  readonly name: string;
}

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const dryRun = values['dry-run'];
try {
  main();
} catch (error) {
  console.error(`release: ${(error as Error).message}`);
  process.exitCode = 1;
}

function main(): void {
  const [wanted = 'minor', ...others] = positionals;
  if (others.length > 0) throw new Error(`remove ${others.join(' ')}`);
  if (!dryRun && process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] === undefined) {
    throw new Error(
      'packages are published with provenance, which only a workflow can prove: start the workflow "Release" on GitHub, or use --dry-run',
    );
  }
  checkRepository();
  const { version: current } = manifestIn('.');
  const released = wanted === current && tagsAtHead().includes(`v${current}`);
  const version = released ? current : nextVersion(current, wanted);
  if (!released && git('.', 'tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists`);
  const clone = mkdtempSync(path.join(tmpdir(), 'everwire-release-'));
  try {
    git('.', 'clone', '--quiet', '--branch', BRANCH, '.', clone);
    const packages = packagesIn(clone);
    if (!released) prepare(clone, version, packages);
    step('run all checks');
    run(clone, 'bash', '.ci/run');
    step(`pack ${packages.map(({ name }) => name).join(', ')}`);
    // Not into the work tree, which must stay as it is in git.
    for (const { folder } of packages)
      run(path.join(clone, folder), 'npm', 'pack', '--pack-destination', path.join(clone, '.git'));
    if (!dryRun && !released) {
      step(`push ${BRANCH} and v${version}`);
      const tag = `refs/tags/v${version}`;
      // Not from the clone, which has no credentials for the origin.
      git('.', 'fetch', '--quiet', clone, `${tag}:${tag}`);
      git('.', 'push', '--quiet', '--atomic', 'origin', `v${version}^{commit}:refs/heads/${BRANCH}`, tag);
    }
    for (const each of packages) publish(clone, each, version);
    step(dryRun ? `nothing was published: this was a dry run of ${version}` : `${version} is published`);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}

/** @throws Error if a release would not contain what is on the branch of everybody. */
function checkRepository(): void {
  const branch = git('.', 'branch', '--show-current');
  if (branch !== BRANCH) throw new Error(`this is the branch ${branch}: switch to ${BRANCH}`);
  if (git('.', 'status', '--porcelain') !== '') throw new Error('there are changes: commit or remove them');
  if (git('.', 'remote') === '') return;
  git('.', 'fetch', '--quiet', '--tags', 'origin', BRANCH);
  const [here, there] = [git('.', 'rev-parse', 'HEAD'), git('.', 'rev-parse', `origin/${BRANCH}`)];
  if (here !== there) throw new Error(`${BRANCH} is not the same as at origin: pull or push first`);
}

function tagsAtHead(): string[] {
  return git('.', 'tag', '--points-at', 'HEAD').split('\n');
}

/** Commits and tags the version. */
function prepare(clone: string, version: string, packages: readonly Package[]): void {
  step(`write version ${version}`);
  const edit = (file: string, change: (text: string) => string): void => {
    const at = path.join(clone, file);
    writeFileSync(at, change(readFileSync(at, 'utf8')));
  };
  edit('CHANGELOG.md', (text) => releasedChangelog(text, version));
  edit('src/version.ts', (text) => text.replace(/'\d+\.\d+\.\d+'/, `'${version}'`));
  edit('package.json', (text) => releasedManifest(text, version));
  edit('package-lock.json', (text) =>
    releasedLock(
      text,
      version,
      packages.map(({ folder }) => folder),
    ),
  );
  // Also those that a template has.
  const others = git(clone, 'ls-files', 'packages/*package.json').split('\n');
  for (const file of others.filter((name) => name !== '')) edit(file, (text) => releasedManifest(text, version));
  git(clone, 'commit', '--quiet', '--all', '--message', `Release ${version}`);
  const changes = changesOf(readFileSync(path.join(clone, 'CHANGELOG.md'), 'utf8'), version);
  git(clone, 'tag', '--annotate', `v${version}`, '--cleanup=verbatim', '--message', `${version}\n\n${changes}`);
  process.stderr.write(`${git(clone, 'show', '--stat', '--format=%s', 'HEAD')}\n`);
}

function publish(clone: string, { folder, name }: Package, version: string): void {
  const at = path.join(clone, folder);
  if (dryRun) {
    step(`publish ${name} ${version} (dry run)`);
    run(at, 'npm', 'publish', '--dry-run', '--ignore-scripts', '--access', 'public');
    return;
  }
  const published = spawnSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8' });
  if (published.status === 0 && published.stdout.trim() === version) {
    step(`${name} ${version} was published before`);
    return;
  }
  step(`publish ${name} ${version}`);
  run(at, 'npm', 'publish', '--provenance', '--ignore-scripts', '--access', 'public');
}

/** This package and those of its workspaces that are not private. */
function packagesIn(root: string): Package[] {
  const { workspaces = [] } = manifestIn(root);
  return ['', ...workspaces].flatMap((folder) => {
    const { name, private: isPrivate = false } = manifestIn(path.join(root, folder));
    return isPrivate ? [] : [{ folder, name }];
  });
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly workspaces?: readonly string[];
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}

function step(what: string): void {
  console.error(`\n== ${what}`);
}

function git(folder: string, ...words: string[]): string {
  return execFileSync('git', words, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  }).trim();
}

/** Runs a command whose output is for the person who releases. @throws Error if it fails. */
function run(folder: string, command: string, ...words: string[]): void {
  const { status, error } = spawnSync(command, words, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    // On Windows npm is a script, which only a shell can start.
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} failed${error ? `: ${error.message}` : ''}`);
}
