import path from 'node:path';
import { FileTokenStore } from '../auth/client/file-token-store.ts';
import { loopbackRedirect } from '../auth/client/loopback-redirect.ts';
import { oauth } from '../auth/client/oauth.ts';
import { OAuthError } from '../auth/client/oauth-error.ts';
import { openBrowser } from '../auth/client/open-browser.ts';
import type { RedirectHandler } from '../auth/client/redirect.ts';
import type { CredentialKey } from '../auth/client/token-store.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { dataFolder } from './data-folder.ts';
import { atLast } from './shutdown.ts';

/** How long a login may take, in milliseconds. Other timeouts do not include this time. */
const LOGIN_TIMEOUT = 300_000;

/** Shows messages about logins to the user. */
export interface LoginPrinter {
  print(line: string): void;
  /** Prints a full URL on its own line. */
  address(line: string, address: URL): void;
}

/**
 * Gets access tokens for a server that requires them, and stores them in files that only the user can read (0600).
 * Processes that run at the same time share one login: the first one opens the browser, and the others wait for its
 * result.
 *
 * @param allowed whether a browser may be opened. If not, only stored tokens are used and refreshed.
 * @param attended whether there is a user who could log in.
 */
export function loginFor(url: URL, printer: LoginPrinter, allowed: boolean, attended: boolean): Authorizer {
  return loginBy(allowed && attended ? inBrowser(printer, url) : refuseLogin(url, allowed), url);
}

/**
 * The same, but nothing opens a browser.
 *
 * @param onlogin gets the address for the user, and undefined when the login is over.
 */
export function loginByLink(url: URL, allowed: boolean, onlogin: (address: URL | undefined) => void): Authorizer {
  if (!allowed) return loginBy(refuseLogin(url, allowed), url);
  const redirect = loopbackRedirect({ title: 'Everwire', timeout: LOGIN_TIMEOUT, open: onlogin });
  const start: RedirectHandler['start'] = async (registered) => {
    const login = await redirect.start(registered);
    const { redirectUri } = login;
    return {
      redirectUri,
      authorize: (request) => login.authorize(request).finally(() => onlogin(undefined)),
      close: () => login.close(),
    };
  };
  return loginBy({ start }, url);
}

/** Logins and refreshes. When the commands have ended, no login goes on. */
const running = new Set<Promise<unknown>>();
atLast(async () => void (await Promise.allSettled(running)));

/** Refreshes end before the process does: a refresh token that was sent works no more, so its replacement is needed. */
class CompletingStore extends FileTokenStore {
  override async locked<T>(...args: [key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal]): Promise<T> {
    const ended = super.locked(...args);
    running.add(ended);
    try {
      return await ended;
    } finally {
      running.delete(ended);
    }
  }
}

function loginBy(redirect: RedirectHandler, url: URL): Authorizer {
  return oauth({
    server: url,
    redirect,
    store: new CompletingStore(path.join(dataFolder(), 'tokens')),
    clientMetadata: { client_name: 'Everwire' },
  });
}

function inBrowser(printer: LoginPrinter, { host }: URL): RedirectHandler {
  return loopbackRedirect({
    title: 'Everwire',
    timeout: LOGIN_TIMEOUT,
    open: async (url) => {
      printer.address(`${host} asks you to log in`, url);
      if (await openBrowser(url)) return;
      // A user on another machine has to forward this port.
      const back = new URL(url.searchParams.get('redirect_uri')!);
      printer.print(
        `No browser could be opened. Open the URL yourself; after the login it redirects to ${back.host} on this machine.`,
      );
    },
  });
}

function refuseLogin({ host }: URL, allowed: boolean): RedirectHandler {
  const how = allowed ? 'run the command on a terminal' : 'run the command without --no-login';
  return {
    start: () =>
      Promise.reject(new OAuthError('authorization', `${host} requires a login: ${how}, or add --header with a token`)),
  };
}
