import { spawn } from 'node:child_process';

/** What opens an address on a system, and how. The address is an argument of its own: no shell reads it. */
export function browserCommand(address: string, platform: NodeJS.Platform): readonly [string, readonly string[]] {
  if (platform === 'darwin') return ['open', [address]];
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', address]];
  return ['xdg-open', [address]];
}

/**
 * Opens an address in the user's browser. Resolves with whether that could be tried: where it could not, the user must be
 * told the address.
 *
 * @throws TypeError for what is not `http` or `https`: other schemes start other programs.
 */
export async function openBrowser(url: URL): Promise<boolean> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new TypeError('Only web addresses are opened');
  const [command, args] = browserCommand(url.href, process.platform);
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
