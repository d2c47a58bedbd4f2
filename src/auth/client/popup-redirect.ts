import { waitFor } from '../../base/wait.ts';
import { OAuthError } from './oauth-error.ts';
import { thisPage, type LoginWindow } from './page.ts';
import type { AuthorizationRequest, RedirectHandler } from './redirect.ts';
import { checkRedirect } from './redirect-uri.ts';

/**
 * How the page in the popup talks to the page that opened it. An authorization server may cut the reference between their
 * windows (Cross-Origin-Opener-Policy), but pages of one origin still share this channel.
 */
const CHANNEL = 'everwire-login';

/** Options of `popupRedirect`. */
export interface PopupOptions {
  /**
   * Opens the window. Default: `window.open`. A browser allows that for a few seconds after a click. To be safe, open the
   * window in the click, and let this function set its location.
   *
   * @returns null if no window was opened.
   */
  readonly open?: ((url: URL) => LoginWindow | null) | undefined;
  /** How long the user may take. Milliseconds. Default 5 minutes. */
  readonly timeout?: number | undefined;
}

/**
 * Logs the user in in a popup window of a page.
 *
 * @param redirectUri a page of the same origin, which calls `finishLogin`.
 * @throws TypeError for a redirect URI that is neither https nor on this machine. A login fails with OAuthError:
 * `authorization` if the browser opens no window, or `timeout`, also if the user has closed the window.
 */
export function popupRedirect(redirectUri: string, options: PopupOptions = {}): RedirectHandler {
  checkRedirect(redirectUri);
  return {
    start: () =>
      Promise.resolve({
        redirectUri,
        authorize: (request) => answerFromPopup(request, options),
        close: () => Promise.resolve(),
      }),
  };
}

async function answerFromPopup(
  { url, state, signal }: AuthorizationRequest,
  { open = openPopup, timeout = 300_000 }: PopupOptions,
): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(CHANNEL);
  try {
    const answer = new Promise<URLSearchParams>((resolve) => {
      channel.addEventListener('message', (event) => {
        const { data } = event as { data?: unknown };
        const parameters = new URLSearchParams(typeof data === 'string' ? data : '');
        // Other tabs may log in at the same time.
        if (parameters.get('state') === state) resolve(parameters);
      });
    });
    const popup = open(url);
    if (!popup) {
      throw new OAuthError('authorization', 'The browser opened no window for the login: connect after a click');
    }
    const timeoutError = (): Error => new OAuthError('timeout', `The login was not finished within ${timeout} ms`);
    try {
      return await waitFor(answer, { signal, timeout, timeoutError });
    } finally {
      popup.close();
    }
  } finally {
    channel.close();
  }
}

function openPopup(url: URL): LoginWindow | null {
  return thisPage().open(url.href, '_blank', 'popup,width=500,height=700');
}

/** Passes the response of a login on, and closes the popup. To be called by the page at the redirect URI of `popupRedirect`. */
export function finishLogin(): void {
  const page = thisPage();
  const channel = new BroadcastChannel(CHANNEL);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has only its own origin
  channel.postMessage(page.location.search);
  channel.close();
  page.close();
}
