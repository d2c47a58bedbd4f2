import type { AuthorizationServer } from 'oauth4webapi';
import { fetchHttp } from '../../transport/http/client/fetch-http.ts';
import type { HttpSend } from '../../transport/http/client/http.ts';
import { pooledHttp } from '../../transport/http/client/pooled-http.ts';
import type { PreparedRequest } from '../client/authorization-code.ts';
import { secretsOfClient } from '../client/client-authentication.ts';
import { canonical } from '../client/discovery.ts';
import type { DpopKey } from '../client/dpop.ts';
import { GuardedHttp, type WatchedHttpOptions } from '../client/guarded-http.ts';
import { observedRedirect, type LoopbackOptions } from '../client/loopback-redirect.ts';
import type { LoginAttempt, RedirectHandler } from '../client/redirect.ts';
import type { RegistrationOptions } from '../client/registration.ts';
import type { Issued } from '../client/token-endpoint.ts';
import { secretsIn } from '../secrets-in.ts';
import { ExchangeLog } from './exchange-log.ts';
import type { Facts } from './facts.ts';
import type { AuthorizedRevision, Pause, Proceed, StepId, StepRecord } from './step.ts';

/** A call of a tool that needs more scopes than the first request. */
export interface ScopedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** How to walk through the authorization of a server. */
export interface WalkOptions extends RegistrationOptions, Omit<WatchedHttpOptions, 'server'> {
  readonly url: URL;
  /** Whose rules apply, and how the server is asked. */
  readonly revision: AuthorizedRevision;
  /** Headers of the requests to the server. Default none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The scopes to request. Default: those that the client would request. */
  readonly scopes?: readonly string[] | undefined;
  /** The call for the step-up. Default: only a refusal of the first request leads to a step-up. */
  readonly call?: ScopedCall | undefined;
  /** The last step. Default: all. */
  readonly until?: StepId | undefined;
  /** How the login shows its address, and where it returns. */
  readonly login: LoopbackOptions;
  readonly signal: AbortSignal;
  /** Called before each step but the first. Resolves with undefined to end the walk. */
  readonly pause: (pause: Pause) => Promise<Proceed | undefined>;
  /** Called when a step begins. */
  readonly onstart?: ((step: StepId) => void) | undefined;
  readonly onstep: (step: StepRecord) => void;
}

/** How a step ended. */
export interface StepEnd {
  readonly outcome: StepRecord['outcome'];
  readonly note: string;
  /** Whether the walk can go on after the client has stopped: never, if a person says so, or always. */
  readonly goesOn: 'never' | 'asked' | 'always';
}

export function done(note: string): StepEnd {
  return { outcome: 'done', note, goesOn: 'always' };
}

export function skipped(note: string): StepEnd {
  return { outcome: 'skipped', note, goesOn: 'always' };
}

/** @param error why the client stops. */
export function stopped(error: unknown, goesOn: StepEnd['goesOn']): StepEnd {
  return { outcome: 'stopped', note: (error as Error).message, goesOn };
}

/** What the steps share. */
export class Walk {
  readonly options: WalkOptions;
  readonly facts: Facts;
  readonly log = new ExchangeLog();
  /** Sends requests to addresses that the server has named. */
  readonly http: GuardedHttp;
  /** Sends requests to the server itself. */
  readonly send: HttpSend;
  readonly redirect: RedirectHandler;
  /** What no record may show. */
  readonly secrets = new Set<string>();
  /** All tokens that were issued, to be revoked. */
  readonly granted: Issued[] = [];
  /** The scopes that were requested. */
  scopes: readonly string[] = [];
  dpop: DpopKey | undefined;
  login: LoginAttempt | undefined;
  request: PreparedRequest | undefined;
  code: string | undefined;
  #onanswer: ((answer: URLSearchParams) => void) | undefined;

  constructor(options: WalkOptions) {
    const { url, revision, headers = {}, client, fetch, proxy, wiretap, login } = options;
    this.options = options;
    const endpoint = new URL(url);
    endpoint.hash = '';
    this.facts = {
      ...{ endpoint, revision, exchanges: [], challenges: [] },
      resource: canonical(endpoint),
      issuer: endpoint.origin,
    };
    this.http = new GuardedHttp({ ...options, server: endpoint }, this.log.observe);
    this.send = this.log.observe(fetch ? fetchHttp(fetch) : pooledHttp({ proxy, wiretap }));
    this.redirect = observedRedirect(login, (answer) => this.#onanswer?.(answer));
    const given = [
      ...Object.values(headers).flatMap(secretsIn),
      ...endpoint.searchParams.values(),
      ...(client ? secretsOfClient(client) : []),
    ];
    for (const value of given) if (value) this.secrets.add(value);
  }

  /** The authorization server. Each step after the discovery has one. */
  get server(): AuthorizationServer {
    return this.facts.server!;
  }

  /** Resolves with the next parameters that come to the redirect URI, even if the login ignores or refuses them. */
  answer(): Promise<URLSearchParams> {
    return new Promise((resolve) => {
      this.#onanswer = (answer) => {
        // Something else on this machine may ask for the address, too.
        if (['code', 'error', 'state'].some((name) => answer.has(name))) resolve(answer);
      };
    });
  }

  /** Keeps tokens, and that they are secret. */
  hold(tokens: Issued): void {
    const { accessToken, refreshToken } = tokens;
    for (const token of [accessToken, refreshToken]) if (token !== undefined) this.secrets.add(token);
    this.facts.tokens = tokens;
  }

  async endLogin(): Promise<void> {
    const { login } = this;
    this.login = undefined;
    await login?.close();
  }
}
