import { spawn } from 'node:child_process';
import { windowsProgram } from '../../base/windows-program.ts';

/** The command that opens a URL on a platform. The URL is a separate argument, so no shell interprets it. */
export function browserCommand(address: string, platform: NodeJS.Platform): readonly [string, readonly string[]] {
  if (platform === 'darwin') return ['open', [address]];
  if (platform === 'win32') return [windowsProgram('rundll32'), ['url.dll,FileProtocolHandler', address]];
  return ['xdg-open', [address]];
}

/**
 * On a machine without a browser, `xdg-open` fails within this time. With one, it may run as long as the browser does.
 * Milliseconds.
 */
const FAILS_WITHIN = 2000;

/**
 * Opens a URL in the user's browser. Resolves with whether that worked, after at most two seconds. If not, show the URL to
 * the user.
 *
 * @throws TypeError for schemes other than `http` and `https`, because they can start other programs.
 */
export async function openBrowser(url: URL): Promise<boolean> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new TypeError('Only http and https URLs can be opened');
  const [command, args] = browserCommand(url.href, process.platform);
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
    const started = setTimeout(() => resolve(true), FAILS_WITHIN);
    const end = (opened: boolean): void => {
      clearTimeout(started);
      resolve(opened);
    };
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
    child.unref();
  });
}
