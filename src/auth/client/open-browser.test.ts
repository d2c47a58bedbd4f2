import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { browserCommand, openBrowser } from './open-browser.ts';

test.each([
  ['darwin', 'open'],
  ['win32', String.raw`C:\Windows\System32\rundll32.exe`],
  ['linux', 'xdg-open'],
] as const)('on %s a URL is passed as one argument, whatever it contains', (platform, program) => {
  const address = 'https://auth.example/?a=b&c=$(d)|e';
  const [command, args] = browserCommand(address, platform);
  expect(command).toBe(program);
  expect(args.at(-1)).toBe(address);
});

test.each(['file:///etc/passwd', 'javascript:alert(1)', 'vscode://x'])('%s is not opened', async (address) => {
  await expect(openBrowser(new URL(address))).rejects.toThrow('Only http and https URLs');
});

/** The program that opens browsers is this shell script, or is missing. */
function browserScript(script: string | undefined): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-browser-'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  if (script !== undefined) {
    for (const name of ['xdg-open', 'open'])
      writeFileSync(path.join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  vi.stubEnv('PATH', `${folder}${script === undefined ? '' : `:${process.env['PATH']}`}`);
}

test.skipIf(process.platform === 'win32').each([
  ['opens a browser', 'exit 0', true],
  ['finds no browser', 'exit 3', false],
  ['does not exist', undefined, false],
  ['runs as long as the browser does', 'exec sleep 5', true],
])('a program that %s', async (_, script, opened) => {
  browserScript(script);
  expect(await openBrowser(new URL('http://127.0.0.1/'))).toBe(opened);
});
