import { Deadline } from '../../base/deadline.ts';
import { grant, refresh, type Acquired, type Attempt, type Demand } from './acquisition.ts';
import { discoverAuthority, type Authority } from './discovery.ts';
import { DpopKey } from './dpop.ts';
import { GuardedHttp } from './guarded-http.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthOptions } from './options.ts';
import { covers } from './scopes.ts';
import { SingleFlight } from './single-flight.ts';
import type { CredentialKey, StoredCredentials, StoredTokens, TokenStore } from './token-store.ts';
import { waitFor } from '../../base/wait.ts';

/** Limits in milliseconds for getting a token: not counting the time of a login, and in total. */
const MAX_ACQUISITION = 120_000;
const MAX_LOGIN = 3_600_000;
/** At the end of an issuer, for the lock of a login. The identifier of an issuer has no fragment. */
const LOGIN = '#login';

type Acquire = (attempt: Attempt, stored: StoredCredentials | undefined) => Promise<Acquired | undefined>;

export interface CredentialsOptions extends OAuthOptions {
  readonly store: TokenStore;
  /** The last time at which a user login was active, in the units of `Date.now()`. Infinity while a login is active. */
  readonly loginActiveUntil: () => number;
  /** Counts a login as active until the returned function is called. Called for a login of another process. */
  readonly beginLogin: () => () => void;
}

/** The token in use. */
export interface Held {
  readonly issuer: string;
  readonly tokens: StoredTokens;
  readonly dpop: DpopKey | undefined;
  /** When this process got the token, in the units of `performance.now()`. Undefined if another process got it. */
  readonly issuedAt: number | undefined;
  /** The server has refused it. */
  rejected: boolean;
}

/** The credentials of one server. Holds the current token and gets the next one. */
export class Credentials {
  readonly endpoint: URL;
  readonly #options: CredentialsOptions;
  readonly #http: GuardedHttp;
  readonly #server: string;
  /** Without a user to log in, these are requests for other tokens, too. */
  readonly #refreshes = new SingleFlight();
  readonly #logins = new SingleFlight();
  #loading: Promise<void> | undefined;
  #held: Held | undefined;

  constructor(url: URL, options: CredentialsOptions) {
    this.endpoint = new URL(url);
    this.endpoint.hash = '';
    this.#server = this.endpoint.href;
    this.#options = options;
    this.#http = new GuardedHttp({ ...options, server: this.endpoint });
  }

  get held(): Held | undefined {
    return this.#held;
  }

  /**
   * The token to use now. Refreshes it shortly before it expires. Undefined if there is no token: the first request is
   * then sent without one.
   */
  async current(signal: AbortSignal | undefined): Promise<Held | undefined> {
    await (this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    }));
    const held = this.#held;
    if (!held || !isDue(held.tokens)) return held;
    if (held.tokens.refreshToken !== undefined || !this.#options.redirect) {
      try {
        await this.#refreshes.run((abort) => this.#refresh(held, abort), signal);
      } catch (error) {
        signal?.throwIfAborted();
        // While the token is valid, the next request tries again. After that, the server's refusal of a request without a
        // token may name other metadata than before.
        if (isOver(held.tokens) && !isFinal(error)) throw error;
      }
    }
    const now = this.held;
    if (now && !isOver(now.tokens)) return now;
    this.#held = undefined;
    return undefined;
  }

  /**
   * Gets a token that replaces the refused one. Refreshes under the lock of the key. If that does not help, the user logs in
   * under a second lock, so that others can refresh the stored token meanwhile. Processes that share the store wait for each
   * other at both locks.
   *
   * @throws OAuthError
   */
  async renew(demand: Demand, signal: AbortSignal | undefined): Promise<void> {
    const { redirect } = this.#options;
    const before = this.#held;
    for (;;) {
      let authority = undefined as Authority | undefined;
      let renewed = false as boolean;
      // A refresh grants no further scopes (RFC 6749, section 6).
      const further = demand.stepUp || (this.#held && !covers(this.#held.tokens.scopes, demand.scopes));
      if (!redirect || !further) {
        await this.#refreshes.run(async (abort) => {
          authority = await this.#discover(demand, abort);
          renewed = await this.#refreshed(authority, demand, abort);
        }, signal);
      }
      if (redirect && !renewed && !this.#satisfies(demand, before)) {
        renewed = await this.#logins.run(
          async (abort) => this.#loggedIn(authority ?? (await this.#discover(demand, abort)), demand, abort),
          signal,
        );
      }
      // Another caller may have requested fewer scopes than this one needs.
      if (renewed || this.#satisfies(demand, before)) return;
    }
  }

  /** Whether another caller has got a token that this one can use. It may be the same text, with further scopes. */
  #satisfies({ scopes }: Demand, before: Held | undefined): boolean {
    const held = this.#held;
    return held !== undefined && held !== before && covers(held.tokens.scopes, scopes);
  }

  async #load(): Promise<void> {
    const { store } = this.#options;
    const [issuer] = await store.issuers(this.#server);
    if (issuer === undefined) return;
    const tokens = (await store.get({ server: this.#server, issuer }))?.tokens;
    if (tokens) await this.#hold(issuer, tokens, false);
  }

  async #hold(issuer: string, tokens: StoredTokens, fresh: boolean, dpop?: DpopKey): Promise<void> {
    const key =
      dpop ?? (tokens.tokenType === 'DPoP' && tokens.dpopKey ? await DpopKey.open(tokens.dpopKey) : undefined);
    this.#held = { issuer, tokens, dpop: key, issuedAt: fresh ? performance.now() : undefined, rejected: false };
  }

  /** Refreshes a token before it expires. Does not ask the user, because the token may not be needed again. */
  async #refresh(held: Held, signal: AbortSignal): Promise<void> {
    const { metadataUrl, accessToken } = held.tokens;
    const demand = { used: accessToken, scopes: undefined, metadataUrl, dpop: false, stepUp: false };
    const authority = await this.#discover(demand, signal);
    if (!(await this.#refreshed(authority, demand, signal))) this.#held = undefined;
  }

  async #discover(demand: Demand, signal: AbortSignal): Promise<Authority> {
    const { store, legacy = true, chooseIssuer } = this.#options;
    const choose = async (issuers: readonly string[]): Promise<string> => {
      const bound = this.#options.client?.issuer;
      if (bound !== undefined && issuers.includes(bound)) return bound;
      const known = await store.issuers(this.#server);
      return known.find((issuer) => issuers.includes(issuer)) ?? issuers[0]!;
    };
    const authority = await discoverAuthority({
      endpoint: this.endpoint,
      http: this.#http,
      metadataUrl: demand.metadataUrl,
      choose: chooseIssuer ?? choose,
      legacy,
      signal,
    });
    await this.#checkClient(this.#keyOf(authority));
    return authority;
  }

  #keyOf({ server }: Authority): CredentialKey {
    return { server: this.#server, issuer: server.issuer };
  }

  /** Refreshes the token, or, without a user to log in, requests another one. Returns whether there is a token now. */
  async #refreshed(authority: Authority, demand: Demand, signal: AbortSignal): Promise<boolean> {
    const { store, redirect } = this.#options;
    const get: Acquire = async (attempt, stored) =>
      (await refresh(attempt, stored)) ?? (redirect ? undefined : await grant(attempt, stored));
    const section = (): Promise<boolean> => this.#unlessStored(authority, demand, signal, get);
    return store.locked(this.#keyOf(authority), section, signal);
  }

  async #loggedIn(authority: Authority, demand: Demand, signal: AbortSignal): Promise<void> {
    const key = this.#keyOf(authority);
    // Another process may log in for further scopes than these.
    if (await this.#holdStored(await this.#options.store.get(key), authority, demand)) return;
    // While another process has the lock, its user logs in.
    const endWait = this.#options.beginLogin();
    const section = (): Promise<boolean> => {
      endWait();
      return this.#unlessStored(authority, demand, signal, grant);
    };
    await this.#options.store.locked({ ...key, issuer: `${key.issuer}${LOGIN}` }, section, signal).finally(endWait);
  }

  /** Runs under a lock. Returns whether there is a token now. */
  async #unlessStored(authority: Authority, demand: Demand, signal: AbortSignal, get: Acquire): Promise<boolean> {
    const key = this.#keyOf(authority);
    const stored = await this.#options.store.get(key);
    if (await this.#holdStored(stored, authority, demand)) return true;
    const got = await this.#bounded(signal, async (both) =>
      get({ options: this.#options, http: this.#http, authority, demand, key, signal: both }, stored),
    );
    if (got) await this.#hold(key.issuer, got.tokens, true, got.dpop);
    return got !== undefined;
  }

  /** Uses a token that another caller or process has stored. Returns whether there is one. */
  async #holdStored(stored: StoredCredentials | undefined, authority: Authority, demand: Demand): Promise<boolean> {
    if (!stored?.tokens || !this.#serves(stored.tokens, authority, demand)) return false;
    await this.#hold(authority.server.issuer, stored.tokens, false);
    return true;
  }

  /** Limits how long the lock is held. Application code that gets a token may ignore the signal. */
  async #bounded<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timedOut = new AbortController();
    const deadline = new Deadline(
      { timeout: MAX_ACQUISITION, maxTimeout: MAX_LOGIN },
      () => timedOut.abort(new OAuthError('timeout', `No token for ${this.endpoint.origin} was obtained in time`)),
      this.#options.loginActiveUntil,
    );
    try {
      return await waitFor(work(AbortSignal.any([signal, timedOut.signal])), { signal: timedOut.signal });
    } finally {
      deadline.clear();
    }
  }

  /** Whether a token from another process satisfies the request. */
  #serves(tokens: StoredTokens, { resource }: Authority, { used, scopes }: Demand): boolean {
    const other = tokens.accessToken !== used && tokens.resource === resource;
    return other && !isDue(tokens) && covers(tokens.scopes, scopes);
  }

  /** 2026-07-28, client-registration: Authorization Server Binding. */
  async #checkClient({ server, issuer }: CredentialKey): Promise<void> {
    const { store, client } = this.#options;
    if (!client || client.issuer !== undefined) return;
    for (const other of await store.issuers(server)) {
      if (other === issuer) continue;
      const { tokens } = (await store.get({ server, issuer: other })) ?? {};
      if (tokens?.clientId === client.clientId) {
        throw new OAuthError(
          'registration',
          `The client was used with ${other}, but the server requires tokens from ${issuer}`,
        );
      }
    }
  }
}

/** Whether another attempt to get a token in the same way would fail in the same way. */
function isFinal(error: unknown): boolean {
  return error instanceof OAuthError && error.code !== 'unreachable' && error.code !== 'timeout';
}

/** Whether it is time to refresh the token. */
function isDue({ refreshAt = Infinity }: StoredTokens): boolean {
  return refreshAt <= Date.now();
}

function isOver({ expiresAt = Infinity }: StoredTokens): boolean {
  return expiresAt <= Date.now();
}
