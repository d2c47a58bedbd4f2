import { peerUrl } from '../base/peer-url.ts';
import { loopbackRedirect, type LoopbackOptions } from '../auth/client/loopback-redirect.ts';
import { openBrowser } from '../auth/client/open-browser.ts';
import type { RedirectHandler } from '../auth/client/redirect.ts';
import type { OAuthSettings } from '../bridge/config/oauth.ts';

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

/** A login that returns to this machine. @param open shows the URL to the user. */
export function redirectFor(
  { oauth: { callbackPort } = {} }: LoginServer,
  open: LoopbackOptions['open'],
): RedirectHandler {
  return loopbackRedirect(loginAt(callbackPort, open));
}

/** The settings of a login that returns to this machine. @param port default: a free one. */
export function loginAt(port: number | undefined, open: LoopbackOptions['open']): LoopbackOptions {
  // Hosts that have this setting use the same address.
  const redirectUri = port === undefined ? undefined : `http://localhost:${port}/callback`;
  return { title: 'Everwire', timeout: LOGIN_TIMEOUT, redirectUri, open };
}

/**
 * A login in the browser of the user.
 *
 * @param open opens the URL. Resolves with whether that worked.
 */
export function inBrowser(server: LoginServer, printer: LoginPrinter, open = openBrowser): RedirectHandler {
  return redirectFor(server, browserOpener(server, printer, open));
}

/** What shows the URL of a login to the user, and lets the user enter the address that the login ends at. */
export function browserOpener(
  server: LoginServer,
  printer: LoginPrinter,
  open: (url: URL) => Promise<boolean>,
): LoopbackOptions['open'] {
  return async (url, signal) => {
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
  };
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
    const address = peerUrl(line);
    const ours = address && address.origin + address.pathname === redirectUri;
    // Another login may have ended at the same address.
    if (ours && address.searchParams.get('state') === url.searchParams.get('state')) return address;
    if (line !== '') print(`This is not the address that this login ends at. It begins with ${redirectUri}?`);
  }
}
