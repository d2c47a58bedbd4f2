import path from 'node:path';
import { FileTokenStore } from '../auth/client/file-token-store.ts';
import { loopbackRedirect } from '../auth/client/loopback-redirect.ts';
import { oauth } from '../auth/client/oauth.ts';
import { OAuthError } from '../auth/client/oauth-error.ts';
import { openBrowser } from '../auth/client/open-browser.ts';
import type { User } from '../auth/client/user.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { dataFolder } from './data-folder.ts';
import type { Terminal } from './terminal.ts';

/** How long a person may take to log in, in milliseconds. No other limit of time counts it. */
const LOGIN_TIMEOUT = 300_000;

/**
 * Gets access tokens for a server that wants them, and keeps them in files of the person's own (0600).
 *
 * @param allowed whether the person may be sent to a browser. Without that only tokens that are kept are used, and
 * refreshed.
 */
export function loginFor(url: URL, terminal: Terminal, allowed: boolean): Authorizer {
  return oauth({
    server: url,
    user: allowed && terminal.watched ? inBrowser(terminal, url) : nobody(url, allowed),
    store: new FileTokenStore(path.join(dataFolder(), 'tokens')),
    clientMetadata: { client_name: 'Everwire' },
  });
}

function inBrowser(terminal: Terminal, { host }: URL): User {
  return loopbackRedirect({
    title: 'Everwire',
    timeout: LOGIN_TIMEOUT,
    open: async (url) => {
      terminal.tell(`${host} wants you to log in:\n  ${url.href}`);
      if (!(await openBrowser(url))) terminal.tell('No browser could be opened. Please open the address yourself.');
    },
  });
}

function nobody({ host }: URL, allowed: boolean): User {
  const how = allowed ? 'run the command on a terminal' : 'run the command without --no-login';
  return {
    visit: () => Promise.reject(new OAuthError('authorization', `${host} wants a login: ${how}, or give a --header`)),
  };
}
