import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Starts the compiled fixture client, and compiles it first if a source is newer. The suite starts dozens at once: one
// of them compiles, and the others wait for it. Then a few run at a time. On a busy machine, all of them together would take
// longer for a request than a client waits.

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = path.join(root, 'dist/test/conformance/fixture-client.js');

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

/** Whether this process takes a place, which is a file with its number. Whoever was killed has left it. */
function takes(name) {
  const place = path.join(root, `dist/.fixture-client-${name}`);
  try {
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, String(process.pid), { flag: 'wx' });
    process.on('exit', () => rmSync(place, { force: true }));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  try {
    process.kill(Number(readFileSync(place, 'utf8')), 0);
  } catch (error) {
    if (error.code === 'ESRCH') rmSync(place, { force: true });
  }
  return false;
}

while (!isFresh()) {
  if (!takes('build')) {
    await delay(100);
    continue;
  }
  const { status } = spawnSync('npm', ['run', '-s', 'build'], {
    cwd: root,
    shell: process.platform === 'win32',
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('The client cannot be built');
  // An unchanged file is not written again.
  const now = new Date();
  utimesSync(built, now, now);
}
while (!['a', 'b', 'c', 'd'].some(takes)) await delay(100);
await import(pathToFileURL(built).href);
