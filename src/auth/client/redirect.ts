import { checkRedirect } from './registration.ts';

/** One authorization request, and what its answer must match. */
export interface AuthorizationRequest {
  /** The address that the user must open in a browser. */
  readonly url: URL;
  /** The `state` that must come back (RFC 6749, section 10.12). */
  readonly state: string;
  /** The issuer that must come back in `iss`, if there is an `iss` (RFC 9207). */
  readonly issuer: string;
  /** Fires when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** One login of the user, which ends at one redirect URI. */
export interface LoginAttempt {
  /** With `https`, or with `http` on this machine. */
  readonly redirectUri: string;
  /**
   * Sends the user to the authorization server. Resolves with the parameters that came back to the redirect URI, errors
   * included; the authorizer checks them. Called at most once.
   *
   * @throws if nothing came back.
   */
  authorize(request: AuthorizationRequest): Promise<URLSearchParams>;
  /** Called once, whatever happened. */
  close(): Promise<void>;
}

/** Sends users to the authorization server and receives them at a redirect URI: `loopbackRedirect` or `customRedirect`. */
export interface RedirectHandler {
  /**
   * Starts a login. Called before the client is registered.
   *
   * @param registered redirect URIs of the client's registration. Using one of them again makes a new registration needless.
   */
  start(registered: readonly string[]): Promise<LoginAttempt>;
}

/**
 * A redirect URI of the application's own, such as a page of a web site or an `https` link that opens an app.
 *
 * @param redirectUri with `https`, or with `http` on this machine.
 * @param authorize opens the address of the request. Resolves with the address that the browser was sent back to, or with
 * its parameters.
 * @throws TypeError for another redirect URI.
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
