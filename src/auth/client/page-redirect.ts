import { Deferred } from '../../base/deferred.ts';
import { waitFor } from '../../base/wait.ts';
import { OAuthError } from './oauth-error.ts';
import { thisPage } from './page.ts';
import type { AuthorizationRequest, RedirectHandler, ReturnedLogin } from './redirect.ts';
import { checkRedirect } from './redirect-uri.ts';
import type { CredentialKey } from './token-store.ts';

/** Where logins are kept while the page is left. */
const KEY = 'everwire-login';
/** The parameters of an authorization response (RFC 6749, section 4.1.2; RFC 9207; OpenID Connect Session Management). */
const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri', 'session_state'];
/** How long the browser may take to leave the page. Milliseconds. */
const TIMEOUT = 300_000;

/** A login for which the page was left. */
interface BegunLogin {
  readonly key: CredentialKey | undefined;
  readonly state: string;
  readonly verifier: string;
  /** What has come back to the page, as a query. */
  answer?: string;
}

/** Settles when the login before has ended. To leave the page for one would interrupt another. */
let before: Promise<void> = Promise.resolve();

/**
 * Leaves the page for the login, and returns to it. The login continues when the page at the redirect URI connects
 * with the same options. Several logins of a page run one after the other. Pass a `store` that outlives the page, such as
 * `new WebTokenStore(sessionStorage)`.
 *
 * @param redirectUri a page of the same origin: the same page, or another one that connects.
 * @throws TypeError for a redirect URI that is neither https nor on this machine.
 */
export function pageRedirect(redirectUri: string): RedirectHandler {
  checkRedirect(redirectUri);
  return {
    start: async (_registered, _further, key) => {
      const free = before;
      const ended = new Deferred();
      before = ended.promise;
      await free;
      return {
        redirectUri,
        authorize: (request) => leave(request, key),
        returned: () => returned(key),
        close: async () => ended.resolve(),
      };
    },
  };
}

async function leave(
  { url, state, verifier, signal }: AuthorizationRequest,
  key: CredentialKey | undefined,
): Promise<URLSearchParams> {
  signal.throwIfAborted();
  keep([...begunLogins().filter((login) => !isOf(login, key)), { key, state, verifier }]);
  const page = thisPage();
  page.location.assign(url.href);
  const back = new Promise<never>((_, reject) => {
    const error = new OAuthError('authorization', 'The user has left the login page');
    // The browser has kept the page as it was, and shows it again.
    page.addEventListener('pageshow', ({ persisted }) => persisted && reject(error));
  });
  const timeoutError = (): Error => new OAuthError('timeout', `The login was not finished within ${TIMEOUT} ms`);
  return waitFor(back, { signal, timeout: TIMEOUT, timeoutError });
}

function returned(key: CredentialKey | undefined): ReturnedLogin | undefined {
  const logins = begunLogins();
  const login = logins.find((each) => each.answer !== undefined && isOf(each, key));
  if (!login) return undefined;
  keep(logins.filter((each) => each !== login));
  const { state, verifier, answer } = login;
  return { state, verifier, answer: new URLSearchParams(answer) };
}

/** The logins that were begun in this tab. If one of them has just come back, its answer is kept until its server connects. */
function begunLogins(): readonly BegunLogin[] {
  const { location, history, sessionStorage } = thisPage();
  const logins = JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as readonly BegunLogin[];
  const url = new URL(location.href);
  const back = logins.find(({ state }) => state === url.searchParams.get('state'));
  if (!back) return logins;
  back.answer = url.search;
  keep(logins);
  // A code works once. So neither the history nor a reload may have it.
  for (const name of PARAMETERS) url.searchParams.delete(name);
  history.replaceState(history.state, '', url.href);
  return logins;
}

function keep(logins: readonly BegunLogin[]): void {
  const { sessionStorage } = thisPage();
  if (logins.length === 0) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, JSON.stringify(logins));
}

function isOf(login: BegunLogin, key: CredentialKey | undefined): boolean {
  return login.key?.server === key?.server && login.key?.issuer === key?.issuer;
}
