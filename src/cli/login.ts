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

/** How long a person may take to log in, in milliseconds. No other limit of time counts it. */
const LOGIN_TIMEOUT = 300_000;

/** Tells a person what a login needs of them. */
export interface Teller {
  readonly tell: (line: string) => void;
  /** Shows an address whole, on a line of its own. */
  readonly address: (line: string, address: URL) => void;
}

/**
 * Gets access tokens for a server that wants them, and keeps them in files of the person's own (0600).
 *
 * @param allowed whether the person may be sent to a browser. Without that only tokens that are kept are used, and
 * refreshed.
 */
export function loginFor(url: URL, terminal: Terminal, allowed: boolean): Authorizer {
  const teller: Teller = {
    tell: (line) => terminal.tell(line),
    address: (line, address) => terminal.tell(`${line}:\n${address.href}`),
  };
  return login(url, allowed && terminal.watched ? inBrowser(teller, url) : nobody(url, allowed));
}

/**
 * The same for a bridge, which has no terminal where a host runs it. Bridges that run at once share one login: the first
 * that needs it sends the person to a browser, and the others wait for what comes of it.
 *
 * @param teller tells whoever runs it.
 * @param way whether the person may be sent to a browser; where not, `no-login` because that is not wanted, and `nobody`
 * because there is none.
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
      address(`${host} wants you to log in`, url);
      if (await openBrowser(url)) return;
      // A person at another machine has to forward that port.
      const back = new URL(url.searchParams.get('redirect_uri')!);
      tell(
        `No browser could be opened. Please open the address yourself; it leads back to ${back.host} on this machine.`,
      );
    },
  });
}

function nobody({ host }: URL, allowed: boolean): RedirectHandler {
  const how = allowed ? 'run the command on a terminal' : 'run the command without --no-login';
  return {
    start: () => Promise.reject(new OAuthError('authorization', `${host} wants a login: ${how}, or give a --header`)),
  };
}
