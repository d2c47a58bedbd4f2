import { openBrowser } from '../auth/client/open-browser.ts';
import { servePage, type PageServer, type PageServerOptions } from '../inspect/page-server/page-server.ts';
import { Failure } from './failure.ts';
import { printStatus } from './print-status.ts';
import { pageFolder } from './recording.ts';
import { atEnd } from './shutdown.ts';

/** What the page of the inspector shows, and where. */
export interface InspectorPage extends Omit<PageServerOptions, 'folder'> {
  /** The name of the port option, for the error if the port cannot be used. */
  readonly portOption: string;
  /** Whether to open a browser. */
  readonly open: boolean;
  /** Whether the user may press Enter for another address. */
  readonly interactive: boolean;
}

/** Serves the page until the process ends, and prints its address. @throws Failure with code 2 if the port is in use. */
export async function showPage({ portOption, open, interactive, ...options }: InspectorPage): Promise<void> {
  let server: PageServer;
  try {
    server = await servePage({ ...options, folder: pageFolder() });
  } catch (error) {
    throw Failure.usage(`${(error as Error).message}; choose another port with ${portOption}`);
  }
  atEnd(() => server.close());
  printStatus(`inspector on ${server.url}`);
  if (interactive) renewOnEnter(server);
  if (open && process.stderr.isTTY && !process.env['CI']) await openBrowser(new URL(server.browserUrl));
}

/** Prints another address whenever the user presses Enter, because each address can be used only once. */
function renewOnEnter(server: PageServer): void {
  if (!process.stdin.isTTY) return;
  process.stdin.on('data', () => printStatus(`inspector on ${server.renew()}`));
}
