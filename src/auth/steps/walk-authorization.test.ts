import { expect, onTestFinished, test } from 'vitest';
import { startAuthorizationFixture, type Faults, type Fixture } from '../../../test/support/authorization-fixture.ts';
import { CHECKS } from './checks/index.ts';
import { AUTHORIZED_REVISIONS, STEPS, type Pause, type StepId, type StepRecord } from './step.ts';
import { walkAuthorization } from './walk-authorization.ts';
import type { WalkOptions } from './walk.ts';

type Options = Partial<WalkOptions> & { readonly faults?: Faults; readonly sameOrigin?: boolean };

interface Walked {
  readonly steps: readonly StepRecord[];
  readonly fixture: Fixture;
  readonly pauses: readonly Pause[];
}

/** Walks to the end, as a person does who always goes on. */
async function walk({ faults, sameOrigin, ...options }: Options = {}): Promise<Walked> {
  const fixture = await startAuthorizationFixture(faults, sameOrigin);
  onTestFinished(() => fixture.close());
  const steps: StepRecord[] = [];
  const pauses: Pause[] = [];
  await walkAuthorization({
    url: new URL(fixture.url),
    revision: '2026-07-28',
    signal: AbortSignal.timeout(20_000),
    login: { timeout: 5000, open: (url) => void fetch(url).catch(() => {}) },
    pause: (pause) => {
      pauses.push(pause);
      return Promise.resolve({});
    },
    onstep: (step) => steps.push(step),
    ...options,
  });
  return { steps, fixture, pauses };
}

/** The checks that were not passed, as `step check status`. */
function problems(steps: readonly StepRecord[]): string[] {
  return steps.flatMap(({ id, checks }) =>
    checks
      .filter(({ status }) => status === 'failed' || status === 'warning')
      .map((each) => `${id} ${each.id} ${each.status}`),
  );
}

const WRITE = { tool: 'write', args: {} };

test('ids of checks are unique, and each check has a clause or an RFC', () => {
  expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  expect(CHECKS.filter(({ clauses, rfc }) => !clauses && rfc === undefined)).toEqual([]);
  expect(CHECKS.map(({ step }) => STEPS.indexOf(step))).toEqual(
    CHECKS.map(({ step }) => STEPS.indexOf(step)).toSorted((one, other) => one - other),
  );
});

test.each(AUTHORIZED_REVISIONS)('a correct server of %s passes all checks in each step', async (revision) => {
  const sameOrigin = revision === '2025-03-26';
  const { steps, fixture } = await walk({ revision, sameOrigin, call: WRITE });
  expect(steps.map(({ id }) => id)).toEqual(STEPS);
  expect(steps.filter(({ outcome }) => outcome === 'stopped')).toEqual([]);
  expect(steps.filter(({ outcome }) => outcome === 'skipped').map(({ id }) => id)).toEqual(
    sameOrigin ? ['resource-metadata'] : [],
  );
  expect(problems(steps)).toEqual([]);
  // The first login is for the scope of the challenge, and the step-up adds the other one.
  expect(steps.find(({ id }) => id === 'step-up')!.note).toContain('read write');
  expect(fixture.asked.filter((each) => each === 'POST /revoke').length).toBeGreaterThanOrEqual(4);
});

test('no record contains a token, a code, a verifier or a secret', async () => {
  const { steps, fixture } = await walk({
    call: WRITE,
    client: { clientId: 'by-hand', clientSecret: 'the-secret-of-the-client' },
    headers: { 'x-gateway': 'the-secret-of-the-gateway' },
    faults: { serverMetadata: (right) => ({ ...right, token_endpoint_auth_methods_supported: undefined }) },
  });
  const secrets = fixture.forms.flatMap((form) =>
    ['code', 'code_verifier', 'refresh_token'].map((name) => form.get(name)),
  );
  const shown = JSON.stringify(steps);
  expect(secrets.filter((secret) => secret !== null).length).toBeGreaterThan(3);
  const given = ['the-secret-of-the-client', 'the-secret-of-the-gateway', 'eyJ'];
  expect([...secrets, ...given].filter((secret) => secret !== null && shown.includes(secret))).toEqual([]);
  expect(shown).not.toContain(Buffer.from('by-hand:the-secret').toString('base64').slice(0, 16));
});

/** A fault, where it is named, and whether the client stops there. */
const SEEDED: [name: string, faults: Faults, problem: string, stops: boolean, more?: Options, ends?: StepId][] = [
  [
    'a 401 without WWW-Authenticate',
    { mcp: (right) => (right.status === 401 ? { status: 401 } : right) },
    'challenge challenge-present failed',
    false,
  ],
  [
    'metadata of another resource',
    { resourceMetadata: (right) => ({ ...right, resource: 'https://other.example/mcp' }) },
    'resource-metadata resource-matches failed',
    true,
  ],
  [
    'no authorization_servers',
    { resourceMetadata: ({ resource }) => ({ resource }) },
    'resource-metadata authorization-servers-named failed',
    true,
    // The server itself is no authorization server.
    {},
    'registration',
  ],
  [
    'metadata of another issuer',
    { serverMetadata: (right) => ({ ...right, issuer: 'https://other.example' }) },
    'server-metadata issuer-matches failed',
    true,
  ],
  [
    'no S256',
    { serverMetadata: (right) => ({ ...right, code_challenge_methods_supported: ['plain'] }) },
    'pkce pkce-s256 failed',
    true,
  ],
  [
    'a redirect URI that is refused at the registration',
    { register: () => ({ status: 400, body: { error: 'invalid_redirect_uri' } }) },
    'registration registration-accepted failed',
    true,
    {},
    'registration',
  ],
  [
    'a callback with another state',
    { callback: (right) => new URLSearchParams({ ...Object.fromEntries(right), state: 'another' }) },
    'callback callback-state failed',
    true,
  ],
  [
    'a callback of another issuer',
    { callback: (right) => new URLSearchParams({ ...Object.fromEntries(right), iss: 'https://other.example' }) },
    'callback callback-issuer failed',
    true,
  ],
  [
    'a callback without the promised iss',
    {
      callback: (right) => {
        right.delete('iss');
        return right;
      },
    },
    'callback callback-issuer-kept failed',
    true,
  ],
  [
    'a token without a type',
    { token: ({ body, ...right }) => ({ ...right, body: { ...(body as object), token_type: undefined } }) },
    'token token-type failed',
    true,
  ],
  [
    'a token of another type',
    { token: ({ body, ...right }) => ({ ...right, body: { ...(body as object), token_type: 'mac' } }) },
    'token token-type failed',
    true,
  ],
  [
    'a server that accepts tokens for other resources',
    { audience: () => 'https://other.example' },
    'first-request audience-checked failed',
    false,
  ],
  [
    'a server that accepts any token',
    { mcp: (right, token) => (token !== undefined && right.status === 401 ? { body: {} } : right) },
    'first-request invalid-token-refused failed',
    false,
  ],
  [
    'a refresh token that is not replaced',
    {
      token: (right, form) => {
        const used = form.get('refresh_token');
        return used === null ? right : { ...right, body: { ...(right.body as object), refresh_token: used } };
      },
    },
    'refresh refresh-token-rotated failed',
    false,
  ],
  [
    'a refresh that is refused',
    {
      token: (right, form) => (form.has('refresh_token') ? { status: 400, body: { error: 'invalid_grant' } } : right),
    },
    'refresh refresh-accepted failed',
    true,
  ],
  [
    'a step-up without scopes',
    {
      mcp: (right) =>
        right.status === 403
          ? { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' } }
          : right,
    },
    'step-up insufficient-scope-scopes warning',
    false,
    { call: WRITE },
  ],
  [
    'a step-up that does not help',
    {
      mcp: (right, _, { params }) =>
        (params as { name?: string } | undefined)?.name === 'write'
          ? {
              status: 403,
              headers: {
                'www-authenticate': 'Bearer error="insufficient_scope", scope="write", resource_metadata="x"',
              },
            }
          : right,
    },
    'step-up step-up-accepted failed',
    false,
    { call: WRITE },
  ],
  [
    'a revocation that fails',
    { revoke: () => ({ status: 400, body: { error: 'invalid_request' } }) },
    'revocation revocation-accepted failed',
    true,
  ],
];

test.each(SEEDED)('%s is named at its step', async (_, faults, problem, stops, more, ends = 'revocation') => {
  const { steps, pauses } = await walk({ faults, ...more });
  expect(problems(steps)).toContain(problem);
  const [step] = problem.split(' ');
  // The first problem is at this step, except for those that follow at once.
  const first = problems(steps)[0]!.split(' ')[0]!;
  expect(first === step || (step === 'first-request' && first === 'token')).toBe(true);
  const stopped = steps.filter(({ outcome }) => outcome === 'stopped').map(({ id }) => id);
  expect(stopped[0]).toBe(stops ? step : undefined);
  const isBeforeTheToken = STEPS.indexOf(step as StepId) <= STEPS.indexOf('token');
  const goesOn = stops && isBeforeTheToken && step !== 'registration';
  expect(pauses.some((pause) => pause.stopped !== undefined)).toBe(goesOn);
  expect(steps.at(-1)!.id).toBe(ends);
});

test('the walk ends where the client stops, if nobody says to go on', async () => {
  const faults: Faults = { serverMetadata: (right) => ({ ...right, code_challenge_methods_supported: undefined }) };
  const { steps, fixture } = await walk({
    faults,
    pause: ({ stopped }) => Promise.resolve(stopped === undefined ? {} : undefined),
  });
  expect(steps.at(-1)).toMatchObject({ id: 'pkce', outcome: 'stopped' });
  expect(fixture.asked).not.toContain('POST /register');
});

test('a person can change the parameters of the authorization request', async () => {
  const { steps, fixture } = await walk({
    pause: ({ parameters }) => {
      if (!parameters) return Promise.resolve({});
      const { resource: _, ...rest } = parameters;
      return Promise.resolve({ parameters: { ...rest, scope: 'read more' } });
    },
  });
  const request = steps.find(({ id }) => id === 'authorization-request')!;
  expect(new URL(request.exchanges[0]!.url).searchParams.get('scope')).toBe('read more');
  expect(problems(steps)[0]).toBe('authorization-request request-resource failed');
  expect(fixture.forms[0]!.has('resource')).toBe(false);
  expect(problems(steps)).toContain('first-request audience-checked failed');
});

test('a walk can end before the login', async () => {
  const { steps } = await walk({ until: 'registration' });
  expect(steps.at(-1)!.id).toBe('registration');
});

test('the texts of a server are escaped and cut', async () => {
  const evil = `\u001b[31m\u202e${'x'.repeat(5000)}`;
  const { steps } = await walk({
    faults: { resourceMetadata: (right) => ({ ...right, resource: evil }) },
    until: 'server-metadata',
  });
  const text = JSON.stringify(steps);
  expect(text).not.toContain('\u202e');
  expect(steps[1]!.checks.find(({ id }) => id === 'resource-matches')!.seen!.length).toBeLessThan(310);
});

test('a token in a response of any form is masked', async () => {
  const { steps } = await walk({
    faults: {
      token: ({ body }) => ({
        headers: { 'content-type': 'text/plain' },
        body: `access_token=${(body as { access_token: string }).access_token}&token_type=bearer`,
      }),
    },
  });
  expect(steps.at(-1)).toMatchObject({ id: 'token', outcome: 'stopped' });
  expect(JSON.stringify(steps)).not.toContain('eyJ');
});

test.each(['by hand', 'dynamically'])('credentials of a client registered %s are masked', async (how) => {
  const client = { clientId: 'by-hand', clientSecret: 'the-secret-of-the-client' };
  const [id, secret] = how === 'by hand' ? Object.values(client) : ['dynamic', 'the-registered-secret'];
  const credentials = btoa(`${id}:${secret}`);
  const { steps } = await walk({
    ...(how === 'by hand' && { client }),
    faults: {
      serverMetadata: (right) => ({ ...right, token_endpoint_auth_methods_supported: ['client_secret_basic'] }),
      register: () => ({
        status: 201,
        body: { client_id: id, client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' },
      }),
      // It repeats what it has received.
      token: () => ({ status: 401, body: { error: 'invalid_client', error_description: `Basic ${credentials}` } }),
    },
  });
  const sent = steps.at(-1)!.exchanges.at(-1)!;
  expect(sent.headers['authorization']).toMatch(/^Basic /);
  expect(sent.response!.body).toContain('Basic [redacted]');
  expect(JSON.stringify(steps)).not.toContain(credentials);
});

test.each([
  ['the part after the scheme', 'Token the-given-secret', 'the-given-secret'],
  ['the password', `Basic ${btoa('ada:the-given-secret')}`, 'the-given-secret'],
])('%s of a given header is masked', async (_, header, secret) => {
  const { steps } = await walk({
    headers: { 'x-gateway': header },
    faults: { mcp: (right) => ({ ...right, body: { error: `${secret} is wrong` } }) },
    until: 'challenge',
  });
  expect(steps[0]!.exchanges[0]!.response!.body).toContain('[redacted] is wrong');
});

test('an address in a private network is not asked', async () => {
  const { steps } = await walk({
    faults: { resourceMetadata: (right) => ({ ...right, authorization_servers: ['https://192.168.0.1'] }) },
  });
  expect(steps.at(-1)).toMatchObject({ id: 'server-metadata', outcome: 'stopped', exchanges: [] });
  expect(steps.at(-1)!.note).toContain('private');
});

test('a server that is not there stops the first step', async () => {
  const { steps } = await walk({ url: new URL('http://127.0.0.1:9/mcp') });
  expect(steps).toHaveLength(1);
  expect(steps[0]).toMatchObject({ id: 'challenge', outcome: 'stopped' });
});

test('an abort ends the wait for the browser', async () => {
  const controller = new AbortController();
  const walked = walk({
    signal: controller.signal,
    login: { open: () => controller.abort(new Error('enough')) },
  });
  await expect(walked).rejects.toThrow('enough');
});
