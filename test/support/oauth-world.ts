import type { Authorizer } from '../../src/transport/http/client/authorizer.ts';
import { oauth, customRedirect, type OAuthOptions, type RedirectHandler } from '../../src/auth/index.ts';

type Json = Record<string, any>;

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  /** A form, or JSON. */
  readonly body: Json;
}

export interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export const SERVER = 'https://mcp.example/mcp';
export const ISSUER = 'https://auth.example';
export const REDIRECT = 'http://127.0.0.1:7777/callback';

/** A server, its authorization server and a user with a browser, all controlled by the test, without a network. */
export class OAuthWorld {
  /** All requests, except those to the server itself. */
  readonly asked: Asked[] = [];
  /** The URLs to which the user was sent. */
  readonly loginUrls: URL[] = [];
  /** Documents by URL. */
  readonly documents = new Map<string, Answer>();
  /** The parameters that the user's browser returns, in addition to `code` and `state`. Null omits one of these. */
  back: Json = {};
  /** The lifetime of tokens, in seconds. */
  lifetime: number | undefined = 3600;
  tokens = 0;
  /** The responses of token endpoints. Undefined for the usual one. */
  ontoken: (asked: Asked) => Answer | undefined = () => undefined;
  onregister: (asked: Asked) => Answer | undefined = () => undefined;

  constructor() {
    this.resource({});
    this.issuer(ISSUER);
  }

  /** Additional or replaced fields of the server's metadata. */
  resource(members: Json, at = 'https://mcp.example/.well-known/oauth-protected-resource/mcp'): void {
    this.documents.set(at, { body: { resource: SERVER, authorization_servers: [ISSUER], ...members } });
  }

  issuer(issuer: string, members: Json = {}, at = `${issuer}/.well-known/oauth-authorization-server`): void {
    const body = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      ...members,
    };
    this.documents.set(at, { body });
  }

  readonly fetch = (async (input: string, init: RequestInit = {}) => {
    init.signal?.throwIfAborted();
    const text = typeof init.body === 'string' ? init.body : '';
    const headers = init.headers as Record<string, string>;
    const body: Json = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    const asked = { method: init.method ?? 'GET', url: input, headers, body };
    this.asked.push(asked);
    const { status = 200, body: answer, headers: more } = this.#answer(asked);
    const json = typeof answer === 'string' ? answer : JSON.stringify(answer ?? {});
    return new Response(json, { status, headers: { 'content-type': 'application/json', ...more } });
  }) as unknown as typeof globalThis.fetch;

  #answer(asked: Asked): Answer {
    const document = asked.method === 'GET' ? this.documents.get(asked.url) : undefined;
    if (document) return document;
    if (asked.url.endsWith('/register')) {
      const { redirect_uris } = asked.body;
      const client_id = `client-of-${new URL(asked.url).host}`;
      return this.onregister(asked) ?? { status: 201, body: { client_id, redirect_uris } };
    }
    if (asked.url.endsWith('/token')) return this.ontoken(asked) ?? this.issue();
    return { status: 404, body: {} };
  }

  issue(members: Json = {}): Answer {
    this.tokens += 1;
    const usual = { access_token: `access-${this.tokens}`, token_type: 'Bearer', expires_in: this.lifetime };
    return { body: { ...usual, refresh_token: `refresh-${this.tokens}`, ...members } };
  }

  readonly redirect: RedirectHandler = customRedirect(REDIRECT, (request) => {
    this.loginUrls.push(request.url);
    const answer = { code: 'the-code', state: request.url.searchParams.get('state'), ...this.back };
    const given = Object.entries(answer).filter(([, value]) => value !== null);
    return Promise.resolve(new URLSearchParams(given as [string, string][]));
  });

  /** An authorizer in this world, for the user. */
  authorizer(options: OAuthOptions = {}): Authorizer {
    const other = options.clientCredentials === true || options.assertion !== undefined;
    return oauth({ server: SERVER, fetch: this.fetch, ...(!other && { redirect: this.redirect }), ...options });
  }

  /** The bodies of the requests to token endpoints. */
  get tokenRequests(): Json[] {
    return this.asked.filter(({ url }) => url.endsWith('/token')).map(({ body }) => body);
  }

  get registrations(): Json[] {
    return this.asked.filter(({ url }) => url.endsWith('/register')).map(({ body }) => body);
  }

  /** The URLs that were read. */
  get read(): string[] {
    return this.asked.filter(({ method }) => method === 'GET').map(({ url }) => url);
  }
}

/** The server's response to a request with the given headers. Undefined if it accepts them. */
export type Gatekeeper = (headers: Readonly<Record<string, string>>) => Answer | undefined;

export const challenge = (status: number, header: string): Answer => ({
  status,
  headers: { 'www-authenticate': header },
});

/** Accepts any token. */
export const anyToken: Gatekeeper = ({ authorization }) => (authorization ? undefined : challenge(401, 'Bearer'));

/** Accepts these tokens only. */
export const accepts =
  (...tokens: string[]): Gatekeeper =>
  ({ authorization }) =>
    tokens.some((token) => authorization === `Bearer ${token}`)
      ? undefined
      : challenge(401, 'Bearer error="invalid_token"');

/**
 * Sends a request as a transport does: again, as long as the authorizer says so. Returns all credentials that were
 * sent.
 */
export async function send(
  authorizer: Authorizer,
  gatekeeper: Gatekeeper = anyToken,
  { url = new URL(SERVER), signal, method = 'POST' }: { url?: URL; signal?: AbortSignal; method?: 'GET' | 'POST' } = {},
): Promise<{ readonly let: boolean; readonly sent: (string | undefined)[] }> {
  const sent: (string | undefined)[] = [];
  for (let n = 0; n < 10; n++) {
    const headers = await authorizer.headers({ method, url }, signal);
    sent.push(headers['authorization']);
    const answer = gatekeeper(headers);
    if (!answer) return { let: true, sent };
    const reply = { status: answer.status ?? 401, header: (name: string) => answer.headers?.[name] };
    if (!(await authorizer.refused({ method, url, headers }, reply, signal))) return { let: false, sent };
  }
  throw new Error('the authorizer never gives up');
}
