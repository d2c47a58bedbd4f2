import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * The browser of the tests: `CHROMIUM`, one of the usual places, or Playwright's cache. As root on Debian, the package
 * `chromium` is installed.
 *
 * @returns undefined if there is none. Then the reason was printed, once for the whole run.
 * @throws Error in CI, where these tests must run.
 */
export function findBrowser(): string | undefined {
  const given = process.env['CHROMIUM'];
  if (given !== undefined && given !== '') return given;
  const found = () => [...PLACES, chromium.executablePath()].find((file) => existsSync(file));
  const browser = found() ?? (installed() ? found() : undefined);
  if (browser === undefined) {
    const advice = 'install Chromium, run "npx playwright-core install chromium", or set CHROMIUM to its path';
    if (process.env['CI'] === 'true') throw new Error(`There is no browser for the tests: ${advice}.`);
    if (isFirst()) process.stderr.write(`Browser tests are skipped: ${advice}.\n`);
  }
  return browser;
}

function installed(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false;
  const apt = (...words: string[]): boolean =>
    spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...words], { timeout: 600_000 }).status === 0;
  return apt('install', '-y', 'chromium') || (apt('update') && apt('install', '-y', 'chromium'));
}

/** Whether nobody asked before in this test run. Each test file has a process of its own. */
function isFirst(): boolean {
  try {
    closeSync(openSync(path.join(process.env['XDG_DATA_HOME']!, 'no-browser'), 'wx'));
    return true;
  } catch {
    return false;
  }
}
