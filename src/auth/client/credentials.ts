import { attendedTimer } from '../../transport/http/client/attendance.ts';
import { Acquisition, type Demand } from './acquisition.ts';
import { discoverAuthority, type Authority } from './discovery.ts';
import { DpopKey } from './dpop.ts';
import { GuardedHttp } from './guarded-http.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthOptions } from './options.ts';
import { covers } from './scopes.ts';
import { SingleFlight } from './single-flight.ts';
import type { CredentialKey, StoredTokens, TokenStore } from './token-store.ts';
import { waitFor } from '../../util/wait.ts';

/** How long a token may take to be had, not counting what a person takes to log in, and how long that may be. Milliseconds. */
const MAX_ACQUISITION = 120_000;
const MAX_ATTENDED = 3_600_000;

export interface CredentialsOptions extends OAuthOptions {
  readonly store: TokenStore;
  /** When a person was busy with a login last, as `Date.now()` has it; Infinity while one is. */
  readonly loginActiveUntil: () => number;
}

/** The token in use. */
export interface Held {
  readonly issuer: string;
  readonly tokens: StoredTokens;
  readonly dpop: DpopKey | undefined;
  /** When this process got it, in milliseconds since 1970; undefined where another did. */
  readonly issuedAt: number | undefined;
  /** The server has refused it. */
  rejected: boolean;
}

/** The credentials of one server: the token in use, and how the next is had. */
export class Credentials {
  readonly endpoint: URL;
  readonly #options: CredentialsOptions;
  readonly #http: GuardedHttp;
  readonly #server: string;
  readonly #flight = new SingleFlight();
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
   * The token to use now, refreshed where it is about to end; undefined where there is none, and the server has to be asked
   * without one first.
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
        await this.#flight.run((abort) => this.#refresh(held, abort), signal);
      } catch (error) {
        signal?.throwIfAborted();
        // It is still good; the next request tries again.
        if (isOver(held.tokens)) throw error;
      }
    }
    const now = this.held;
    if (now && !isOver(now.tokens)) return now;
    this.#held = undefined;
    return undefined;
  }

  /**
   * Gets a token in place of the one that was refused.
   *
   * @throws OAuthError
   */
  async renew(demand: Demand, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const mine = await this.#flight.run((abort) => this.#acquire(demand, abort), signal);
      // What others wanted may be less than what is wanted here.
      const tokens = this.#held?.tokens;
      if (mine || (tokens && tokens.accessToken !== demand.used && covers(tokens.scopes, demand.scopes))) return;
    }
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
    this.#held = { issuer, tokens, dpop: key, issuedAt: fresh ? Date.now() : undefined, rejected: false };
  }

  /** Before a token ends. Who has to be asked is not asked here: nobody knows yet that a token is needed. */
  async #refresh(held: Held, signal: AbortSignal): Promise<void> {
    const { metadataUrl, accessToken } = held.tokens;
    const demand = { used: accessToken, scopes: undefined, metadataUrl, dpop: false, stepUp: false };
    const authority = await this.#discover(demand, signal);
    await this.#locked(authority, demand, signal, this.#options.redirect === undefined);
  }

  async #acquire(demand: Demand, signal: AbortSignal): Promise<void> {
    await this.#locked(await this.#discover(demand, signal), demand, signal, true);
  }

  async #discover(demand: Demand, signal: AbortSignal): Promise<Authority> {
    const { store, legacy = true, chooseIssuer } = this.#options;
    const choose = async (issuers: readonly string[]): Promise<string> => {
      const bound = this.#options.client?.issuer;
      if (bound !== undefined && issuers.includes(bound)) return bound;
      const known = await store.issuers(this.#server);
      return known.find((issuer) => issuers.includes(issuer)) ?? issuers[0]!;
    };
    return discoverAuthority({
      endpoint: this.endpoint,
      http: this.#http,
      metadataUrl: demand.metadataUrl,
      choose: chooseIssuer ?? choose,
      legacy,
      signal,
    });
  }

  /** Nobody else, in no process, gets a token for the same server meanwhile. */
  async #locked(authority: Authority, demand: Demand, signal: AbortSignal, grants: boolean): Promise<void> {
    const { store } = this.#options;
    const key: CredentialKey = { server: this.#server, issuer: authority.server.issuer };
    await this.#leaveOthers(key);
    await store.locked(
      key,
      async () => {
        const stored = await store.get(key);
        if (stored?.tokens && this.#serves(stored.tokens, authority, demand)) {
          await this.#hold(key.issuer, stored.tokens, false);
          return;
        }
        const got = await this.#bounded(signal, async (both) => {
          const step = new Acquisition(this.#options, this.#http, authority, demand, key, both);
          return (await step.refresh(stored)) ?? (grants ? await step.grant(stored) : undefined);
        });
        if (got) await this.#hold(key.issuer, got.tokens, true, got.dpop);
        else this.#held = undefined;
      },
      signal,
    );
  }

  /** Bounds how long others are locked out: what the application does to get a token need not heed the signal. */
  async #bounded<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const latest = Date.now() + MAX_ATTENDED;
    const end = attendedTimer(
      MAX_ACQUISITION,
      () => Math.min(this.#options.loginActiveUntil(), latest),
      () => late.abort(new OAuthError('timeout', `No token for ${this.endpoint.origin} could be had in time`)),
    );
    try {
      return await waitFor(work(AbortSignal.any([signal, late.signal])), { signal: late.signal });
    } finally {
      end();
    }
  }

  /** Whether a token that another process got is what is wanted. */
  #serves(tokens: StoredTokens, { resource }: Authority, { used, scopes }: Demand): boolean {
    const other = tokens.accessToken !== used && tokens.resource === resource;
    return other && !isDue(tokens) && covers(tokens.scopes, scopes);
  }

  /**
   * Tokens of another authorization server than that of the server are not used any more (2026-07-28, basic/authorization:
   * Token Handling), nor is a client that it knows (client-registration: Authorization Server Binding).
   */
  async #leaveOthers({ server, issuer }: CredentialKey): Promise<void> {
    const { store, client } = this.#options;
    for (const other of await store.issuers(server)) {
      if (other === issuer) continue;
      const key = { server, issuer: other };
      const { tokens, client: registered } = (await store.get(key)) ?? {};
      if (client && client.issuer === undefined && tokens?.clientId === client.clientId) {
        throw new OAuthError(
          'registration',
          `The client was used with ${other}, and the server wants tokens of ${issuer}`,
        );
      }
      if (tokens) await (registered ? store.set(key, { client: registered }) : store.delete(key));
    }
  }
}

/** It is about to end. */
function isDue({ refreshAt = Infinity }: StoredTokens): boolean {
  return refreshAt <= Date.now();
}

function isOver({ expiresAt = Infinity }: StoredTokens): boolean {
  return expiresAt <= Date.now();
}
