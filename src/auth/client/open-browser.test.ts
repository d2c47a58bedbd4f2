import { expect, test } from 'vitest';
import { browserCommand, openBrowser } from './open-browser.ts';

test.each([
  ['darwin', 'open'],
  ['win32', 'rundll32'],
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
