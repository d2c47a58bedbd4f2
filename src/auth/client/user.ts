import { checkRedirect } from './registration.ts';

/** What is expected to come back from an authorization request. */
export interface AuthorizationRequest {
  /** Where the user is to go, in a browser. */
  readonly url: URL;
  /** The `state` that must come back (RFC 6749, section 10.12). */
  readonly state: string;
  /** The issuer that must come back in `iss`, if one does (RFC 9207). */
  readonly issuer: string;
  /** Fires where the answer is not wanted any more. */
  readonly signal: AbortSignal;
}

/** One redirect URI, and the one visit of the user to the authorization server that ends there. */
export interface Visit {
  /** With `https`, or with `http` on this machine. */
  readonly redirectUri: string;
  /**
   * Sends the user to the authorization server, and resolves with the parameters that came back to the redirect URI, errors
   * too. They are checked by the caller. Called at most once.
   *
   * @throws where nothing came back.
   */
  authorize(request: AuthorizationRequest): Promise<URLSearchParams>;
  /** Called once, whatever happened. */
  close(): Promise<void>;
}

/** Whoever can ask the user. */
export interface User {
  /**
   * Opens a redirect URI. It is called before the client is registered.
   *
   * @param former redirect URIs that the client is registered with: to use one of them again spares a registration.
   */
  visit(former: readonly string[]): Promise<Visit>;
}

/**
 * A user who is sent on by a function, to a redirect URI that is always the same.
 *
 * @param redirectUri with `https`, or with `http` on this machine.
 * @param authorize resolves with the address that the browser was sent back to, or with its parameters.
 * @throws TypeError for another redirect URI.
 */
export function userAt(
  redirectUri: string,
  authorize: (request: AuthorizationRequest) => Promise<URL | URLSearchParams>,
): User {
  checkRedirect(redirectUri);
  return {
    visit: () =>
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
