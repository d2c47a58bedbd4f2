import path from 'node:path';
import { FileTokenStore } from '../auth/client/file-token-store.ts';
import { oauth } from '../auth/client/oauth.ts';
import { OAuthError } from '../auth/client/oauth-error.ts';
import type { RedirectHandler } from '../auth/client/redirect.ts';
import type { CredentialKey, TokenStore } from '../auth/client/token-store.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { inBrowser, redirectFor, type LoginPrinter, type LoginServer } from './browser-login.ts';
import { dataFolder } from './data-folder.ts';
import { printStatus } from './print-status.ts';
import { atLast } from './shutdown.ts';

/**
 * Gets access tokens for a server that requires them, and stores them in files that only the user can read (0600).
 * Processes that run at the same time share one login: the first one opens the browser, and the others wait for its
 * result.
 *
 * @param allowed whether a browser may be opened. If not, only stored tokens are used and refreshed.
 * @param attended whether there is a user who could log in.
 */
export function loginFor(server: LoginServer, printer: LoginPrinter, allowed: boolean, attended: boolean): Authorizer {
  const redirect = allowed && attended ? inBrowser(server, printer) : refuseLogin(server, allowed);
  return loginBy(redirect, server, { store: loginStore(server, (line) => printer.print(line)) });
}

/**
 * The same, but nothing opens a browser.
 *
 * @param onlogin gets the address for the user, and undefined when the login is over.
 */
export function loginByLink(
  server: LoginServer,
  allowed: boolean,
  onlogin: (address: URL | undefined) => void,
): Authorizer {
  if (!allowed) return loginBy(refuseLogin(server, allowed), server);
  const redirect = redirectFor(server, onlogin);
  const start: RedirectHandler['start'] = async (registered) => {
    const login = await redirect.start(registered);
    const { redirectUri } = login;
    return {
      redirectUri,
      authorize: (request) => login.authorize(request).finally(() => onlogin(undefined)),
      close: () => login.close(),
    };
  };
  return loginBy({ start }, server);
}

/** The store of all commands. */
export function tokenStore(): TokenStore {
  return new CompletingStore();
}

/** The same for the logins at a server. Says if one waits for another process. */
function loginStore({ url }: LoginServer, print = printStatus): TokenStore {
  const { host } = new URL(url);
  return new CompletingStore(() =>
    print(`Waiting for a login at ${host} that another process has begun: finish it, or end that process`),
  );
}

/** The user learns of a login of another process after this many milliseconds. */
const PATIENCE = 1000;

/** Logins and refreshes. When the commands have ended, no login goes on. */
const running = new Set<Promise<unknown>>();
atLast(async () => void (await Promise.allSettled(running)));

/** Refreshes end before the process does: a refresh token that was sent works no more, so its replacement is needed. */
class CompletingStore extends FileTokenStore {
  readonly #onwait: () => void;

  /** @param onwait called if a login waits for another process. */
  constructor(onwait: () => void = () => {}) {
    super(path.join(dataFolder(), 'tokens'));
    this.#onwait = onwait;
  }

  override async locked<T>(key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const waiting = key.issuer.endsWith('#login') ? setTimeout(this.#onwait, PATIENCE) : undefined;
    const begin = (): Promise<T> => {
      clearTimeout(waiting);
      return section();
    };
    const ended = super.locked(key, begin, signal);
    running.add(ended);
    try {
      return await ended;
    } finally {
      clearTimeout(waiting);
      running.delete(ended);
    }
  }
}

/** What differs between the logins of commands. */
interface LoginOptions {
  /** Default: the store of all commands. */
  readonly store?: TokenStore;
  /** Whether a server without metadata is treated as one of 2025-03-26. Default true. */
  readonly legacy?: boolean;
  /** The only authorization server that a client registered by hand may be used with. Default: the one in the store. */
  readonly issuer?: string | undefined;
}

/** Gets tokens by logins. */
export function loginBy(
  redirect: RedirectHandler,
  server: LoginServer,
  { store = loginStore(server), legacy = true, issuer }: LoginOptions = {},
): Authorizer {
  const { url, oauth: settings = {} } = server;
  const { clientId, clientSecret, scopes } = settings;
  return oauth({
    server: url,
    redirect,
    store,
    legacy,
    client: clientId === undefined ? undefined : { clientId, clientSecret, issuer },
    clientMetadata: { client_name: 'Everwire' },
    scopes,
  });
}

function refuseLogin({ url, oauth: settings = {} }: LoginServer, allowed: boolean): RedirectHandler {
  const { host, origin, pathname } = new URL(url);
  // The client of an mcp.json belongs to the name in that file, which is not known here. A query may contain secrets.
  const target = Object.keys(settings).length === 0 ? origin + pathname : '<target>';
  const how = `run "everwire login ${target}"${allowed ? '' : ', or the command without --no-login'}`;
  return {
    start: (_, further) => {
      const message = further
        ? `the login at ${host} lacks scopes: run "everwire login ${target}" with --scope for each of these: ${further.join(', ')}`
        : `${host} requires a login: ${how}, or add --header with a token`;
      return Promise.reject(new OAuthError('authorization', message));
    },
  };
}
