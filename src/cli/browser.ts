import { spawn } from 'node:child_process';

/** What opens an address, by the platform. None is a shell, so that an address cannot become a command. */
const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens an address of the web in the person's browser.
 *
 * @returns whether something took it. The browser itself is not waited for.
 */
export function openBrowser(url: string): Promise<boolean> {
  const { protocol, href } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') return Promise.resolve(false);
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(command, [...args, href], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
