import { waitFor } from '../../base/wait.ts';
import { OAuthError } from './oauth-error.ts';
import { thisPage } from './page.ts';
import type { AuthorizationRequest, RedirectHandler, ReturnedLogin } from './redirect.ts';
import { checkRedirect } from './redirect-uri.ts';

/** Where the request of a login is kept while the page is left. */
const KEY = 'everwire-login';
/** The parameters of an authorization response (RFC 6749, section 4.1.2; RFC 9207; OpenID Connect Session Management). */
const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri', 'session_state'];
/** How long the browser may take to leave the page. Milliseconds. */
const TIMEOUT = 300_000;

/**
 * Logs the user in in the page itself, which is left for that. The login continues when the page at the redirect URI connects
 * with the same options. Pass a `store` that outlives the page, such as `new WebTokenStore(sessionStorage)`.
 *
 * @param redirectUri a page of the same origin: the same page, or another one that connects.
 * @throws TypeError for a redirect URI that is neither https nor on this machine.
 */
export function pageRedirect(redirectUri: string): RedirectHandler {
  checkRedirect(redirectUri);
  return {
    start: () => Promise.resolve({ redirectUri, authorize: leave, returned, close: () => Promise.resolve() }),
  };
}

async function leave({ url, state, verifier, issuer, signal }: AuthorizationRequest): Promise<URLSearchParams> {
  const { location, sessionStorage } = thisPage();
  sessionStorage.setItem(KEY, JSON.stringify({ state, verifier, issuer }));
  location.assign(url.href);
  const timeoutError = (): Error => new OAuthError('timeout', `The login was not finished within ${TIMEOUT} ms`);
  return waitFor(new Promise<never>(() => {}), { signal, timeout: TIMEOUT, timeoutError });
}

function returned(issuer: string): ReturnedLogin | undefined {
  const { location, history, sessionStorage } = thisPage();
  const kept = sessionStorage.getItem(KEY);
  if (kept === null) return undefined;
  const request = JSON.parse(kept) as { state: string; verifier: string; issuer: string };
  const url = new URL(location.href);
  const answer = new URLSearchParams(url.search);
  if (request.issuer !== issuer || answer.get('state') !== request.state) return undefined;
  sessionStorage.removeItem(KEY);
  // A code works once. So neither the history nor a reload may have it.
  for (const name of PARAMETERS) url.searchParams.delete(name);
  history.replaceState(history.state, '', url.href);
  return { ...request, answer };
}
