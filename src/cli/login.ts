import path from 'node:path';
import { dropOthers } from '../auth/client/acquisition.ts';
import { FileTokenStore } from '../auth/client/file-token-store.ts';
import { loopbackRedirect, type LoopbackOptions } from '../auth/client/loopback-redirect.ts';
import { oauth } from '../auth/client/oauth.ts';
import { OAuthError } from '../auth/client/oauth-error.ts';
import { openBrowser } from '../auth/client/open-browser.ts';
import type { RedirectHandler } from '../auth/client/redirect.ts';
import {
  MemoryTokenStore,
  type CredentialKey,
  type StoredTokens,
  type TokenStore,
} from '../auth/client/token-store.ts';
import type { OAuthSettings } from '../bridge/config/oauth.ts';
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
  /** Asks for a line, if there is a user who can type. Undefined if the user ended the input. */
  readonly ask?: ((prompt: string, signal: AbortSignal) => Promise<string | undefined>) | undefined;
}

/** The server that requires a login, and how to log in there. */
export type LoginServer = { readonly url: string; readonly oauth?: OAuthSettings | undefined };

/**
 * Gets access tokens for a server that requires them, and stores them in files that only the user can read (0600).
 * Processes that run at the same time share one login: the first one opens the browser, and the others wait for its
 * result.
 *
 * @param allowed whether a browser may be opened. If not, only stored tokens are used and refreshed.
 * @param attended whether there is a user who could log in.
 */
export function loginFor(server: LoginServer, printer: LoginPrinter, allowed: boolean, attended: boolean): Authorizer {
  return loginBy(allowed && attended ? inBrowser(server, printer) : refuseLogin(server, allowed), server);
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

/**
 * A login that happens in any case. Its tokens replace the stored ones when it has succeeded. The client is stored with
 * them: to refresh the tokens, other processes need it, and its secret.
 */
export interface FreshLogin {
  /** Sends no stored token, so that a server that requires a login says so. */
  readonly authorizer: Authorizer;
  /**
   * Logs in if that has not happened yet, because the server does not require it. Then stores the tokens.
   *
   * @throws OAuthError `discovery` if the server names no authorization server.
   */
  finish(signal: AbortSignal): Promise<StoredLogin>;
}

/** Who granted what. */
export interface StoredLogin {
  readonly issuer: string;
  readonly tokens: StoredTokens;
}

/** @param open opens the URL in a browser. Resolves with whether that worked. */
export async function freshLogin(
  server: LoginServer,
  printer: LoginPrinter,
  open: (url: URL) => Promise<boolean>,
): Promise<FreshLogin> {
  const key = serverKey(server);
  const stored = tokenStore();
  const fresh = new MemoryTokenStore();
  for (const issuer of await stored.issuers(key)) {
    const { client } = (await stored.get({ server: key, issuer })) ?? {};
    if (client) await fresh.set({ server: key, issuer }, { client });
  }
  const browser = inBrowser(server, printer, open);
  let redirectUri = '';
  const start: RedirectHandler['start'] = async (registered) => {
    const login = await browser.start(registered);
    ({ redirectUri } = login);
    return login;
  };
  const { clientId, clientSecret } = server.oauth ?? {};
  const obtained = async (): Promise<StoredLogin | undefined> => {
    for (const issuer of await fresh.issuers(key)) {
      const { tokens } = (await fresh.get({ server: key, issuer })) ?? {};
      if (tokens) return { issuer, tokens };
    }
    return undefined;
  };
  return {
    authorizer: loginBy({ start }, server, fresh),
    finish: async (signal) => {
      if (!(await obtained())) {
        const request = { method: 'POST', url: new URL(key), headers: {} } as const;
        const challenge = { status: 401, header: () => undefined };
        await loginBy({ start }, server, fresh, false).refused(request, challenge, signal);
      }
      const login = (await obtained())!;
      const at = { server: key, issuer: login.issuer };
      const client =
        clientId === undefined
          ? (await fresh.get(at))?.client
          : { clientId, ...(clientSecret !== undefined && { clientSecret }), redirectUris: [redirectUri] };
      await lockedSoon(stored, at, async () => {
        await dropOthers(stored, at);
        await stored.set(at, { ...(client && { client }), tokens: login.tokens });
      });
      return login;
    },
  };
}

/** A refresh by another process is over within this time, in milliseconds. */
const MAX_REFRESH = 10_000;

/**
 * Runs a section under the lock of its key. Does not wait for a login of another process, such as that of a bridge which
 * opened a browser that nobody sees: the user has decided otherwise here.
 */
export async function lockedSoon(store: TokenStore, key: CredentialKey, section: () => Promise<void>): Promise<void> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), MAX_REFRESH);
  try {
    await store.locked(
      key,
      () => {
        clearTimeout(timer);
        return section();
      },
      waiting.signal,
    );
  } catch (error) {
    if (!waiting.signal.aborted) throw error;
    await section();
  } finally {
    clearTimeout(timer);
  }
}

/** The server of the keys in the store. */
export function serverKey({ url }: LoginServer): string {
  const key = new URL(url);
  key.hash = '';
  return key.href;
}

/** The store of all commands. */
export function tokenStore(): TokenStore {
  return new CompletingStore(path.join(dataFolder(), 'tokens'));
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

/** @param legacy whether a server without metadata is treated as one of 2025-03-26. */
function loginBy(
  redirect: RedirectHandler,
  { url, oauth: settings = {} }: LoginServer,
  store = tokenStore(),
  legacy = true,
): Authorizer {
  const { clientId, clientSecret, scopes } = settings;
  return oauth({
    server: url,
    redirect,
    store,
    legacy,
    client: clientId === undefined ? undefined : { clientId, clientSecret },
    clientMetadata: { client_name: 'Everwire' },
    scopes,
  });
}

function redirectFor({ oauth: { callbackPort } = {} }: LoginServer, open: LoopbackOptions['open']): RedirectHandler {
  // Hosts that have this setting use the same address.
  const redirectUri = callbackPort === undefined ? undefined : `http://localhost:${callbackPort}/callback`;
  return loopbackRedirect({ title: 'Everwire', timeout: LOGIN_TIMEOUT, redirectUri, open });
}

function inBrowser(server: LoginServer, printer: LoginPrinter, open = openBrowser): RedirectHandler {
  return redirectFor(server, async (url, signal) => {
    printer.address(`${new URL(server.url).host} asks you to log in`, url);
    const opened = await open(url);
    const { host } = new URL(url.searchParams.get('redirect_uri')!);
    if (signal.aborted) return undefined;
    if (printer.ask) {
      printer.print(
        (opened ? 'Waiting for the browser.' : 'No browser could be opened: open the URL yourself.') +
          ` If the browser runs on another machine, the login ends at a page of ${host} that cannot be loaded: ` +
          'paste the address of that page here.',
      );
      return enteredAddress(url, printer.ask, (line) => printer.print(line), signal);
    }
    if (!opened) {
      printer.print(
        `No browser could be opened. Open the URL yourself; after the login it redirects to ${host} on this machine. ` +
          'If the browser runs on another machine, forward this port, or use "everwire login" on a terminal instead.',
      );
    }
    return undefined;
  });
}

/**
 * Asks for the address that the browser was redirected to, until it belongs to this login.
 *
 * @param url the address of the login.
 * @returns undefined if the user ended the input.
 */
async function enteredAddress(
  url: URL,
  ask: NonNullable<LoginPrinter['ask']>,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<URL | undefined> {
  const redirectUri = new URL(url.searchParams.get('redirect_uri')!).href;
  for (;;) {
    const line = (await ask('> ', signal))?.trim();
    if (line === undefined) return undefined;
    const address = URL.canParse(line) ? new URL(line) : undefined;
    const ours = address && address.origin + address.pathname === redirectUri;
    // Another login may have ended at the same address.
    if (ours && address.searchParams.get('state') === url.searchParams.get('state')) return address;
    if (line !== '') print(`This is not the address that this login ends at. It begins with ${redirectUri}?`);
  }
}

function refuseLogin({ url }: LoginServer, allowed: boolean): RedirectHandler {
  const how = allowed ? 'run "everwire login"' : 'run "everwire login", or the command without --no-login';
  const { host } = new URL(url);
  return {
    start: () =>
      Promise.reject(new OAuthError('authorization', `${host} requires a login: ${how}, or add --header with a token`)),
  };
}
