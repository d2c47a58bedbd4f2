import { checkRedirect } from './redirect-uri.ts';
import type { CredentialKey } from './token-store.ts';

/** One authorization request, and what its response must match. */
export interface AuthorizationRequest {
  /** The URL that the user must open in a browser. */
  readonly url: URL;
  /** The `state` that the response must contain (RFC 6749, section 10.12). */
  readonly state: string;
  /** The issuer that the response must have in `iss`, if it has an `iss` (RFC 9207). */
  readonly issuer: string;
  /** The PKCE code verifier, for a handler that leaves its page for the login. It is secret (RFC 7636, section 4.1). */
  readonly verifier: string;
  /** Fires when the response is no longer needed. */
  readonly signal: AbortSignal;
}

/** The response to a request of an earlier load of the page. */
export interface ReturnedLogin {
  /** The `state` and the `verifier` of the request. */
  readonly state: string;
  readonly verifier: string;
  /** The parameters that arrived at the redirect URI. */
  readonly answer: URLSearchParams;
}

/** One login of the user, with its redirect URI. */
export interface LoginAttempt {
  /** Uses `https`, or `http` on this machine. */
  readonly redirectUri: string;
  /**
   * Sends the user to the authorization server. Resolves with the parameters that arrive at the redirect URI, errors
   * included. The authorizer checks them. Called at most once.
   *
   * @throws if no response arrives.
   */
  authorize(request: AuthorizationRequest): Promise<URLSearchParams>;
  /**
   * This login, if an earlier load of the page has started it and it has returned. It is then not started again. Only for a
   * handler that leaves its page. Default: none.
   */
  returned?(): ReturnedLogin | undefined;
  /** Ends the login. Called exactly once, also after errors. */
  close(): Promise<void>;
}

/**
 * Sends users to the authorization server and receives the response at a redirect URI: `loopbackRedirect`,
 * `customRedirect`, and in a browser `popupRedirect` or `pageRedirect`.
 */
export interface RedirectHandler {
  /**
   * Starts a login. Called before the client is registered.
   *
   * @param registered redirect URIs of the client's registration. If one of them is used again, no new registration is
   * necessary.
   * @param further the scopes that the server requires, if the token of an earlier login lacks some of them.
   * @param key what the login is for. A handler that leaves its page needs it to tell logins apart.
   */
  start(registered: readonly string[], further?: readonly string[], key?: CredentialKey): Promise<LoginAttempt>;
}

/**
 * A redirect URI of the application itself, such as a page of a web site or an `https` link that opens an app.
 *
 * @param redirectUri uses `https`, or `http` on this machine.
 * @param authorize opens the URL of the request. Resolves with the URL that the browser was redirected to, or with its
 * parameters.
 * @throws TypeError for any other redirect URI.
 */
export function customRedirect(
  redirectUri: string,
  authorize: (request: AuthorizationRequest) => Promise<URL | URLSearchParams>,
): RedirectHandler {
  checkRedirect(redirectUri);
  return {
    start: () =>
      Promise.resolve({
        redirectUri,
        authorize: async (request) => {
          const answer = await authorize(request);
          return answer instanceof URL ? answer.searchParams : answer;
        },
        close: () => Promise.resolve(),
      }),
  };
}
