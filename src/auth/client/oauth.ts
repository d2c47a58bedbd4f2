import type {
  Authorizer,
  OutgoingRequest,
  RefusedRequest,
  RefusedResponse,
} from '../../transport/http/client/authorizer.ts';
import {
  isInsufficientScope,
  parameterIn,
  parseChallenges,
  type Challenge,
} from '../../transport/http/client/www-authenticate.ts';
import { checkScopes } from '../scopes.ts';
import type { Demand } from './acquisition.ts';
import { Credentials, type Held } from './credentials.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthOptions } from './options.ts';
import { checkRegistration } from './registration.ts';
import { covers, scopesIn } from './scopes.ts';
import { MemoryTokenStore } from './token-store.ts';
import type { RedirectHandler } from './redirect.ts';

/**
 * Fail after this many refusals of new tokens in a row, and request no other token while the last one is new: for `YOUNG`
 * milliseconds. Otherwise a hostile server could cause any number of requests to an authorization server.
 */
const MAX_REJECTED = 2;
const YOUNG = 10_000;
/** Maximum number of scope sets with a step-up count. */
const MAX_COUNTED = 100;
/**
 * The most logins that may begin within `LOGIN_PERIOD`, in milliseconds. A server needs no call of the user to demand one:
 * it can also refuse the answers to its own requests, or end its stream when a token expires.
 */
const MAX_LOGINS = 10;
const LOGIN_PERIOD = 600_000;

/**
 * Gets access tokens for one server by OAuth 2.1, following the authorization pages of 2025-03-26 to 2026-07-28. Tokens
 * are refreshed 30 seconds before they expire. Concurrent callers share one token request, also across processes that
 * share a store.
 *
 * @throws TypeError for options that cannot work. The methods throw OAuthError.
 */
export function oauth(options: OAuthOptions): Authorizer {
  return new OAuth(options);
}

/** The step-ups for a set of scopes. */
interface StepUps {
  count: number;
  /** The token that the last one replaces. The next one may be the same text. */
  held: Held | undefined;
  /** Number of requests that wait for the last one. */
  waiting: number;
}

class OAuth implements Authorizer {
  readonly #options: OAuthOptions;
  readonly #maxStepUps: number;
  #credentials: Credentials | undefined;
  readonly #stepUps = new Map<string, StepUps>();
  #rejected = 0;
  /** Number of active user logins. */
  #logins = 0;
  #loginActiveUntil = 0;
  /** When the last logins began, in the units of `performance.now()`. */
  readonly #loginTimes: number[] = [];

  constructor(options: OAuthOptions) {
    const { redirect, clientCredentials, assertion, client, scopes = [], maxStepUps = 2 } = options;
    if ([redirect, clientCredentials || undefined, assertion].filter((each) => each !== undefined).length !== 1) {
      throw new TypeError('Set exactly one of redirect, clientCredentials and assertion');
    }
    const store: unknown = options.store;
    if (store !== undefined && (typeof store !== 'object' || store === null))
      throw new TypeError(`store must be a TokenStore, such as new FileTokenStore('./tokens'), not ${typeof store}`);
    if (!redirect && !client && options.clientMetadataUrl === undefined) {
      throw new TypeError('Without redirect, a client cannot be registered: set client');
    }
    if (clientCredentials && client && client.clientSecret === undefined && !client.privateKey) {
      throw new TypeError('client needs a clientSecret or a privateKey for clientCredentials');
    }
    checkRegistration(options);
    checkScopes(scopes);
    this.#options = options;
    this.#maxStepUps = maxStepUps;
    if (options.server !== undefined) this.#credentialsFor(new URL(options.server));
  }

  get loginActiveUntil(): number {
    return this.#logins > 0 ? Infinity : this.#loginActiveUntil;
  }

  async headers({ method, url }: OutgoingRequest, signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const credentials = this.#credentialsFor(url);
    // 2026-07-28, basic/authorization: Token Handling.
    if (url.origin !== credentials.endpoint.origin) return {};
    const held = await credentials.current(signal);
    if (!held) return {};
    const { accessToken, tokenType } = held.tokens;
    const authorization = `${tokenType} ${accessToken}`;
    return held.dpop && tokenType === 'DPoP'
      ? { authorization, dpop: await held.dpop.proof(method, url, accessToken) }
      : { authorization };
  }

  async refused({ url, headers }: RefusedRequest, response: RefusedResponse, signal?: AbortSignal): Promise<boolean> {
    const credentials = this.#credentialsFor(url);
    if (url.origin !== credentials.endpoint.origin) return false;
    const challenges = parseChallenges(response.header('www-authenticate'));
    const challenge = challenges.find(({ scheme }) => scheme === 'dpop') ?? challenges.find(isBearer);
    const used = headers['authorization']?.replace(/^\S+ +/, '');
    const { held } = credentials;
    if (challenge?.parameters.get('error') === 'use_dpop_nonce') {
      const nonce = response.header('dpop-nonce');
      if (nonce === undefined || !held?.dpop) return false;
      held.dpop.keepNonce(url.origin, nonce);
      return nonceOf(headers['dpop']) !== nonce;
    }
    const scopes = scopesIn(parameterIn(challenges, 'scope'));
    const demand: Demand = {
      used,
      scopes,
      metadataUrl: parameterIn(challenges, 'resource_metadata'),
      dpop: challenge?.scheme === 'dpop' && !challenges.some(isBearer),
      stepUp: false,
    };
    if (response.status === 401) {
      // Another caller has got a new token meanwhile.
      if (held && held.tokens.accessToken !== used) return true;
      this.#countRejection(credentials);
      await credentials.renew(demand, signal);
      return true;
    }
    if (response.status !== 403 || !isInsufficientScope(challenges) || !scopes) return false;
    if (held && held.tokens.accessToken !== used && covers(held.tokens.scopes, scopes)) return true;
    const stepUps = this.#countStepUp(scopes, held);
    stepUps.waiting += 1;
    try {
      await credentials.renew({ ...demand, stepUp: true }, signal);
    } finally {
      stepUps.waiting -= 1;
    }
    return true;
  }

  /** Fails if the server repeatedly refuses new tokens: another new token would not help. */
  #countRejection({ held, endpoint }: Credentials): void {
    if (!held) return;
    const young = held.issuedAt !== undefined && performance.now() - held.issuedAt < YOUNG;
    if (!young) this.#rejected = 0;
    else if (!held.rejected) this.#rejected += 1;
    held.rejected = true;
    if (this.#rejected >= MAX_REJECTED)
      throw new OAuthError('rejected', `${endpoint.origin} refuses the access tokens that were issued for it`);
  }

  /** 2026-07-28, basic/authorization: Step-Up Authorization Flow, 4. */
  #countStepUp(scopes: readonly string[], held: Held | undefined): StepUps {
    const wanted = scopes.toSorted().join(' ');
    const stepUps = this.#stepUps.get(wanted) ?? { count: 0, held, waiting: 0 };
    // Requests that wait for the same login, or that were refused with the same token, count as one step-up.
    if (stepUps.waiting > 0 || (stepUps.count > 0 && stepUps.held === held)) return stepUps;
    if (stepUps.count >= this.#maxStepUps) {
      const times = stepUps.count === 1 ? 'once' : `${stepUps.count} times`;
      throw new OAuthError(
        'insufficient_scope',
        `The server requires scopes that were requested ${times} already: ${wanted}`,
      );
    }
    if (this.#stepUps.size >= MAX_COUNTED) this.#stepUps.clear();
    stepUps.count += 1;
    stepUps.held = held;
    this.#stepUps.set(wanted, stepUps);
    return stepUps;
  }

  #credentialsFor(url: URL): Credentials {
    const { redirect } = this.#options;
    return (this.#credentials ??= new Credentials(url, {
      ...this.#options,
      redirect: redirect && this.#recorded(redirect),
      store: this.#options.store ?? new MemoryTokenStore(),
      loginActiveUntil: () => this.loginActiveUntil,
      beginLogin: () => this.#beginLogin(),
    }));
  }

  /**
   * Counts a login. Throws if 10 began within 10 minutes: a hostile server could otherwise open the browser again and
   * again.
   */
  #countLogin(): void {
    const now = performance.now();
    const [oldest = now] = this.#loginTimes;
    if (this.#loginTimes.length === MAX_LOGINS) {
      const rest = oldest + LOGIN_PERIOD - now;
      if (rest > 0) {
        const { origin } = this.#credentials!.endpoint;
        const what = `${origin} required ${MAX_LOGINS} logins within ${LOGIN_PERIOD / 60_000} minutes`;
        throw new OAuthError('rejected', `${what}; the next one is possible in ${Math.ceil(rest / 1000)} s`);
      }
      this.#loginTimes.shift();
    }
    this.#loginTimes.push(now);
  }

  /** Returns what ends the login. A second call of that changes nothing. */
  #beginLogin(): () => void {
    let active = true;
    this.#logins += 1;
    return () => {
      if (!active) return;
      active = false;
      this.#logins -= 1;
      this.#loginActiveUntil = Date.now();
    };
  }

  /** Wraps a redirect handler to limit the logins, and to record when one is active. */
  #recorded(redirect: RedirectHandler): RedirectHandler {
    return {
      start: async (...given) => {
        const login = await redirect.start(...given);
        return {
          redirectUri: login.redirectUri,
          ...(login.returned && { returned: () => login.returned!() }),
          authorize: async (request) => {
            this.#countLogin();
            const end = this.#beginLogin();
            try {
              return await login.authorize(request);
            } finally {
              end();
            }
          },
          close: () => login.close(),
        };
      },
    };
  }
}

function isBearer({ scheme }: Challenge): boolean {
  return scheme === 'bearer';
}

/** The nonce in a DPoP proof of this client. */
function nonceOf(proof: string | undefined): unknown {
  const payload = proof?.split('.')[1];
  if (payload === undefined) return undefined;
  const json = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
  return (JSON.parse(json) as { nonce?: unknown }).nonce;
}
