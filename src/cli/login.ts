import path from 'node:path';
import { FileTokenStore } from '../auth/client/file-token-store.ts';
import { loopbackRedirect } from '../auth/client/loopback-redirect.ts';
import { oauth } from '../auth/client/oauth.ts';
import { OAuthError } from '../auth/client/oauth-error.ts';
import { openBrowser } from '../auth/client/open-browser.ts';
import type { RedirectHandler } from '../auth/client/redirect.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { dataFolder } from './data-folder.ts';
import type { Terminal } from './terminal.ts';

/** How long a login may take, in milliseconds. Other timeouts do not include this time. */
const LOGIN_TIMEOUT = 300_000;

/** Tells the user how to log in. */
export interface Teller {
  readonly tell: (line: string) => void;
  /** Prints a full URL on its own line. */
  readonly address: (line: string, address: URL) => void;
}

/**
 * Gets access tokens for a server that requires them, and stores them in files that only the user can read (0600).
 *
 * @param allowed whether a browser may be opened. If not, only stored tokens are used and refreshed.
 */
export function loginFor(url: URL, terminal: Terminal, allowed: boolean): Authorizer {
  const teller: Teller = {
    tell: (line) => terminal.tell(line),
    address: (line, address) => terminal.tell(`${line}:\n${address.href}`),
  };
  return login(url, allowed && terminal.watched ? inBrowser(teller, url) : nobody(url, allowed));
}

/**
 * The same for a bridge, which has no terminal if a host runs it. Bridges that run at the same time share one login:
 * the first one opens the browser, and the others wait for its result.
 *
 * @param teller shows messages to the user.
 * @param way whether a browser may be opened. `no-login`: no, because the user does not want it. `nobody`: no, because
 * there is no user.
 */
export function bridgeLogin(url: URL, teller: Teller, way: 'browser' | 'nobody' | 'no-login'): Authorizer {
  return login(url, way === 'browser' ? inBrowser(teller, url) : nobody(url, way === 'nobody'));
}

function login(url: URL, redirect: RedirectHandler): Authorizer {
  return oauth({
    server: url,
    redirect,
    store: new FileTokenStore(path.join(dataFolder(), 'tokens')),
    clientMetadata: { client_name: 'Everwire' },
  });
}

function inBrowser({ tell, address }: Teller, { host }: URL): RedirectHandler {
  return loopbackRedirect({
    title: 'Everwire',
    timeout: LOGIN_TIMEOUT,
    open: async (url) => {
      address(`${host} asks you to log in`, url);
      if (await openBrowser(url)) return;
      // A user on another machine has to forward this port.
      const back = new URL(url.searchParams.get('redirect_uri')!);
      tell(
        `No browser could be opened. Open the URL yourself; after the login it redirects to ${back.host} on this machine.`,
      );
    },
  });
}

function nobody({ host }: URL, allowed: boolean): RedirectHandler {
  const how = allowed ? 'run the command on a terminal' : 'run the command without --no-login';
  return {
    start: () =>
      Promise.reject(new OAuthError('authorization', `${host} requires a login: ${how}, or add --header with a token`)),
  };
}
