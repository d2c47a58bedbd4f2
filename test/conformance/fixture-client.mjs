import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmdirSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Starts the compiled fixture client, and compiles it first if a source is newer. The suite starts dozens at once: one
// of them compiles, and the others wait for it.

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = path.join(root, 'dist/test/conformance/fixture-client.js');
const lock = path.join(root, 'dist/.fixture-client-lock');
/** Milliseconds after which a compiling process counts as dead. */
const MAX_BUILD = 60_000;

/** The time of the last change in milliseconds since 1970. 0 if the file does not exist. */
function changedAt(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function isFresh() {
  const at = changedAt(built);
  return ['src', 'test/conformance'].every((folder) =>
    readdirSync(path.join(root, folder), { recursive: true }).every(
      (file) => !file.endsWith('.ts') || changedAt(path.join(root, folder, file)) <= at,
    ),
  );
}

/** Whether this process is the one that compiles. */
function takeLock() {
  mkdirSync(path.dirname(lock), { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (Date.now() - changedAt(lock) > MAX_BUILD) rmdirSync(lock);
    return false;
  }
}

while (!isFresh()) {
  if (!takeLock()) {
    await delay(100);
    continue;
  }
  try {
    const { status } = spawnSync('npm', ['run', '-s', 'build'], {
      cwd: root,
      shell: process.platform === 'win32',
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0) throw new Error('The client cannot be built');
    // An unchanged file is not written again.
    const now = new Date();
    utimesSync(built, now, now);
  } finally {
    rmdirSync(lock);
  }
}
await import(pathToFileURL(built).href);
