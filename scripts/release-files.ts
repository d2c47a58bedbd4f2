/** The changes that a release makes to files, as functions of their text. */

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
const DEPENDENCIES = ['dependencies', 'devDependencies', 'peerDependencies'] as const;

/**
 * @param wanted `major`, `minor`, `patch`, or the next version itself.
 * @throws Error if that is no later version than the current one.
 */
export function nextVersion(current: string, wanted: string): string {
  const [major, minor, patch] = numbersOf(current);
  if (wanted === 'major') return `${major + 1}.0.0`;
  if (wanted === 'minor') return `${major}.${minor + 1}.0`;
  if (wanted === 'patch') return `${major}.${minor}.${patch + 1}`;
  const next = numbersOf(wanted);
  const changed = next.findIndex((number, at) => number !== [major, minor, patch][at]);
  if (changed === -1 || next[changed]! < [major, minor, patch][changed]!)
    throw new Error(`${wanted} is not later than the current version, ${current}`);
  return wanted;
}

function numbersOf(version: string): [number, number, number] {
  const [, ...numbers] = VERSION.exec(version) ?? [];
  if (numbers.length !== 3) throw new Error(`"${version}" is neither major, minor, patch nor a version such as 1.2.3`);
  return numbers.map(Number) as [number, number, number];
}

/**
 * Makes the section of unreleased changes the section of a version.
 *
 * @throws Error if there are no unreleased changes.
 */
export function releasedChangelog(text: string, version: string): string {
  const [before, unreleased] = text.split(/^## Unreleased\n/m);
  if (unreleased === undefined) throw new Error('CHANGELOG.md has no section "Unreleased"');
  if (unreleased.split(/^## /m)[0]!.trim() === '') throw new Error('CHANGELOG.md names no unreleased changes');
  return `${before}## Unreleased\n\n## ${version}\n${unreleased}`;
}

/** The section of a version, without its heading. */
export function changesOf(changelog: string, version: string): string {
  const [, after = ''] = changelog.split(`\n## ${version}\n`);
  return after.split(/^## /m)[0]!.trim();
}

interface Manifest {
  version?: string;
  packages?: Record<string, Manifest>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** Sets the version of a package.json, if it has one, and of its dependencies on `everwire`. */
export function releasedManifest(text: string, version: string): string {
  const manifest = JSON.parse(text) as Manifest;
  release(manifest, version);
  return json(manifest);
}

/** Sets the versions of the released packages in a package-lock.json. @param folders theirs, with '' for the root. */
export function releasedLock(text: string, version: string, folders: readonly string[]): string {
  const lock = JSON.parse(text) as Manifest;
  lock.version = version;
  for (const folder of folders) {
    const entry = lock.packages?.[folder];
    if (entry) release(entry, version);
  }
  return json(lock);
}

function release(manifest: Manifest, version: string): void {
  if (manifest.version !== undefined) manifest.version = version;
  for (const kind of DEPENDENCIES) {
    const dependencies = manifest[kind];
    if (dependencies?.['everwire'] !== undefined) dependencies['everwire'] = `^${version}`;
  }
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
