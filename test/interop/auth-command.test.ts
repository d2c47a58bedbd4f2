import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StepRecord } from '../../src/auth/steps/step.ts';
import { bearerAuth } from '../../src/auth/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { startAuthorizationFixture, type Faults } from '../support/authorization-fixture.ts';
import { startEverwire, type Outcome } from '../support/command-line.ts';
import { eventually, root } from '../support/process.ts';
import { browse, startAuthorizationServer } from '../support/oidc-provider.ts';
import { startProtectedServer } from '../support/protected-server.ts';

interface Report {
  readonly counts: Readonly<Record<string, number>>;
  readonly steps: readonly StepRecord[];
  readonly stoppedAt?: string;
}

/** The folder of a user whose browser only records the addresses that it opens. */
let folder: string;

beforeEach(async () => {
  // oidc-provider prints a long warning about use in production.
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  folder = await mkdtemp(path.join(tmpdir(), 'everwire-auth-'));
  for (const name of ['xdg-open', 'open']) {
    await writeFile(path.join(folder, name), `#!/bin/sh\nprintf '%s\\n' "$1" >> '${folder}/visited'\n`);
    await chmod(path.join(folder, name), 0o755);
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

/** Runs the command, while the user follows each address that it opens. */
async function auth(
  args: readonly string[],
  visit: (address: URL) => Promise<unknown> = (address) => fetch(address).catch(() => {}),
): Promise<Outcome> {
  const environment = { PATH: `${folder}:${process.env['PATH']}`, XDG_DATA_HOME: folder, HOME: folder };
  const { exited, stdout, stderr } = startEverwire(['auth', ...args], environment);
  let code: number | null | undefined;
  const ended = exited.then((exit) => {
    ({ code } = exit);
  });
  let seen = 0;
  while (code === undefined) {
    const next = await eventually(async () => {
      const visited = await readFile(path.join(folder, 'visited'), 'utf8').catch(() => '');
      return code === undefined ? visited.split('\n')[seen] : 'ended';
    }, 'the browser is opened, or the command ends');
    if (next === 'ended') break;
    seen += 1;
    await visit(new URL(next));
  }
  await ended;
  return { code: code ?? null, stdout: stdout.join('\n'), stderr: stderr.join('\n') };
}

async function steps(...args: Parameters<typeof auth>): Promise<Report & { readonly code: number | null }> {
  const { code, stdout } = await auth(['--json', ...args[0]], args[1]);
  return { ...(JSON.parse(stdout) as Report), code };
}

/** The checks that were not passed, as `step check status`. */
function problems({ steps: all }: Report): string[] {
  return all.flatMap(({ id, checks }) =>
    checks
      .filter(({ status }) => status === 'failed' || status === 'warning')
      .map((each) => `${id} ${each.id} ${each.status}`),
  );
}

const outcomes = ({ steps: all }: Report, outcome: StepRecord['outcome']): string[] =>
  all.filter((step) => step.outcome === outcome).map(({ id }) => id);

describe.skipIf(process.platform === 'win32')('everwire auth with oidc-provider', () => {
  test.each(['2025-06-18', '2025-11-25', '2026-07-28'])('goes through all steps of %s', async (revision) => {
    const server = await startProtectedServer({ features: { revocation: { enabled: true } } });
    onTestFinished(() => server.close());
    const report = await steps([server.url, '--revision', revision, '--call', 'write={}'], browse);
    expect(problems(report)).toEqual(
      // oidc-provider 9 does not read Client ID Metadata Documents unless that is enabled.
      revision === '2025-06-18' ? [] : ['server-metadata client-documents-offered warning'],
    );
    expect(outcomes(report, 'stopped')).toEqual([]);
    expect(outcomes(report, 'skipped')).toEqual([]);
    expect(report.code).toBe(0);
    expect(report.steps).toHaveLength(12);
  });

  test('goes through the steps of 2025-03-26, with the authorization server at the origin of the server', async () => {
    let server: McpServer | undefined;
    const authorization = await startAuthorizationServer(
      'notes:read',
      { features: { revocation: { enabled: true } } },
      (request, response) => server!.node(request, response),
    );
    const { issuer } = authorization;
    const resource = `${issuer}/mcp`;
    server = new McpServer({
      ...{ name: 'notes', version: '1.0.0' },
      http: { auth: bearerAuth({ resource, issuer, scopes: ['notes:read'] }) },
    });
    onTestFinished(async () => {
      await server?.close();
      await authorization.close();
    });
    const report = await steps([resource, '--revision', '2025-03-26'], browse);
    expect(problems(report)).toEqual([]);
    expect(outcomes(report, 'skipped')).toEqual(['resource-metadata', 'step-up']);
    expect(report.code).toBe(0);
  });

  test('says what the authorization server says if the user does not agree', async () => {
    const server = await startProtectedServer();
    onTestFinished(() => server.close());
    const { code, stdout } = await auth([server.url], async (address) => {
      const back = new URL(address.searchParams.get('redirect_uri')!);
      back.searchParams.set('error', 'access_denied');
      back.searchParams.set('state', address.searchParams.get('state')!);
      back.searchParams.set('iss', server.authorization.issuer);
      await fetch(back);
    });
    expect(code).toBe(1);
    expect(stdout).toContain('FAILED: callback-code');
    expect(stdout).toContain('"access_denied"');
    expect(stdout).toContain('A client stops at callback.');
  });
});

const without =
  (name: string) =>
  (right: URLSearchParams): URLSearchParams => {
    right.delete(name);
    return right;
  };

/** A fault of a server, and the check that names it. */
const SEEDED: Record<string, [faults: Faults, problem: string, args?: string[]]> = {
  'no challenge': [{ mcp: (right) => (right.status === 401 ? { status: 401 } : right) }, 'challenge challenge-present'],
  'metadata of another resource': [
    { resourceMetadata: (right) => ({ ...right, resource: 'https://other.example' }) },
    'resource-metadata resource-matches',
  ],
  'no authorization server': [
    { resourceMetadata: ({ resource }) => ({ resource }) },
    'resource-metadata authorization-servers-named',
  ],
  'metadata of another issuer': [
    { serverMetadata: (right) => ({ ...right, issuer: 'https://other.example' }) },
    'server-metadata issuer-matches',
  ],
  'no S256': [
    { serverMetadata: (right) => ({ ...right, code_challenge_methods_supported: undefined }) },
    'pkce pkce-s256',
  ],
  'a redirect URI that is refused': [
    { register: () => ({ status: 400, body: { error: 'invalid_redirect_uri' } }) },
    'registration registration-accepted',
  ],
  'another state': [
    { callback: (right) => new URLSearchParams({ ...Object.fromEntries(right), state: 'other' }) },
    'callback callback-state',
  ],
  'another issuer': [
    { callback: (right) => new URLSearchParams({ ...Object.fromEntries(right), iss: 'https://other.example' }) },
    'callback callback-issuer',
  ],
  'no iss, although it is promised': [{ callback: without('iss') }, 'callback callback-issuer-kept'],
  'no token type': [
    { token: ({ body, ...right }) => ({ ...right, body: { ...(body as object), token_type: undefined } }) },
    'token token-type',
  ],
  'tokens of others are accepted': [{ audience: () => 'https://other.example' }, 'first-request audience-checked'],
  'a refresh token that stays the same': [
    {
      token: (right, form) => {
        const used = form.get('refresh_token');
        return used === null ? right : { ...right, body: { ...(right.body as object), refresh_token: used } };
      },
    },
    'refresh refresh-token-rotated',
  ],
  'a step-up that does not help': [
    {
      mcp: (right, _, { params }) =>
        (params as { name?: string } | undefined)?.name === 'write'
          ? { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' } }
          : right,
    },
    'step-up step-up-accepted',
    ['--call', 'write={}'],
  ],
  'a revocation that fails': [
    { revoke: () => ({ status: 400, body: { error: 'invalid_request' } }) },
    'revocation revocation-accepted',
  ],
};

describe.skipIf(process.platform === 'win32')('everwire auth names a fault at its step', () => {
  test.each(Object.entries(SEEDED))('%s', async (_, [faults, problem, args = []]) => {
    const fixture = await startAuthorizationFixture(faults);
    onTestFinished(() => fixture.close());
    const report = await steps([fixture.url, ...args]);
    const failed = problems(report).filter((each) => each.endsWith(' failed'));
    expect(failed).toEqual([`${problem} failed`]);
    expect(report.code).toBe(1);
    // A client goes on unless it must not.
    const last = report.steps.at(-1)!;
    expect(last.id === 'revocation' || last.outcome === 'stopped').toBe(true);
  });

  test('without a server, the first step fails with code 3', async () => {
    const { code, stdout } = await auth(['http://127.0.0.1:9/mcp']);
    expect(code).toBe(3);
    expect(stdout).toContain('1. Request without a token (challenge) [stopped]');
  });

  test('the program in docs/authorization-steps.md logs in without a person', async () => {
    const page = await readFile(`${root}docs/authorization-steps.md`, 'utf8');
    const [, program] = /^```sh\n(#![\s\S]*?)^```/m.exec(page)!;
    for (const name of ['xdg-open', 'open']) await writeFile(path.join(folder, name), program!);
    const fixture = await startAuthorizationFixture();
    onTestFinished(() => fixture.close());
    expect(await steps([fixture.url])).toMatchObject({ code: 0 });
  });

  test('with --until, no browser is opened', async () => {
    const fixture = await startAuthorizationFixture();
    onTestFinished(() => fixture.close());
    const report = await steps([fixture.url, '--until', 'registration']);
    expect(report.code).toBe(0);
    expect(report.steps.at(-1)!.id).toBe('registration');
    expect(fixture.asked).not.toContain('GET /authorize');
  });

  test('with --keep-going, the walk goes on where a client stops', async () => {
    const fixture = await startAuthorizationFixture({ callback: without('iss') });
    onTestFinished(() => fixture.close());
    const stopped = await auth([fixture.url]);
    expect(stopped.stdout).toContain('A client stops at callback. To go on as far as possible, add --keep-going.');
    expect(fixture.forms).toHaveLength(0);
    const { code, stdout } = await auth([fixture.url, '--keep-going']);
    expect(code).toBe(1);
    expect(stdout).toContain('12. Revocation (revocation)');
    expect(fixture.forms.length).toBeGreaterThan(0);
  });

  test('no line is wider than 80 columns, and no text of a server gets to the terminal unescaped', async () => {
    const evil = '\u001b[2Jx\u202e'.repeat(40);
    const fixture = await startAuthorizationFixture({
      serverMetadata: (right) => ({ ...right, scopes_supported: [evil], code_challenge_methods_supported: [evil] }),
      register: (right) => ({ ...right, body: { ...(right.body as object), client_id: evil } }),
    });
    onTestFinished(() => fixture.close());
    const { stdout } = await auth([fixture.url, '--verbose', '--keep-going']);
    expect(stdout.split('\n').filter((line) => Array.from(line).length > 80)).toEqual([]);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('\u202e');
    expect(stdout).toContain('\\u001b[2Jx');
  });

  test.each([
    [['--step'], '--step needs a terminal, because it waits for Enter before each step'],
    [['--revision', '2024-11-05'], "option '--revision <revision>' argument '2024-11-05' is invalid."],
    [['--client-metadata-url', 'http://x'], 'It must be an https URL with a path and without a fragment.'],
    [['--call', 'write'], '--call must be written'],
  ])('%s is refused with code 2', async (args, message) => {
    const { code, stderr } = await auth(['http://127.0.0.1:9/mcp', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
