import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { McpServer } from '../../src/server/index.ts';
import { startEverwire, type Outcome } from '../support/command-line.ts';
import { browse } from '../support/oidc-provider.ts';
import { eventually } from '../support/process.ts';
import { startProtectedServer, type ProtectedServer } from '../support/protected-server.ts';

let server: ProtectedServer;

beforeEach(async () => {
  // It prints a long warning about use in production.
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  server = await startProtectedServer({ features: { revocation: { enabled: true } } });
});
afterEach(async () => {
  await server.close();
  vi.restoreAllMocks();
});

async function everwire(...args: string[]): Promise<Outcome> {
  const { exited, stdout, stderr } = startEverwire(args, server.environment);
  const { code } = await exited;
  return { code, stdout: stdout.join('\n'), stderr: stderr.join('\n') };
}

/** Logs in with a browser. @param finish what the user does there. */
async function logIn(args: string[] = [], finish: (address: URL) => Promise<unknown> = browse): Promise<Outcome> {
  const before = (await server.visited()).length;
  const outcome = everwire('login', server.url, ...args);
  const address = await eventually(async () => (await server.visited())[before], 'the browser is opened');
  await finish(new URL(address));
  return outcome;
}

/** The tokens that are stored. */
async function stored(): Promise<{ refreshToken?: string; clientId: string }[]> {
  const folder = path.join(server.folder, 'everwire', 'tokens');
  const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'));
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
  return texts.map(
    (text) => (JSON.parse(text) as { credentials: { tokens: { clientId: string } } }).credentials.tokens,
  );
}

const who = (...args: string[]): Promise<Outcome> => everwire('call', server.url, 'who', ...args);

describe.skipIf(process.platform === 'win32')('everwire login', () => {
  test('stores the tokens for all commands, and says who granted what, until when', async () => {
    const { code, stdout, stderr } = await logIn(['--scope', 'notes:write']);
    expect({ code, stdout: stdout.split('\n') }).toEqual({
      code: 0,
      stdout: [
        `Logged in to ${server.url}.`,
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ granted notes:write, notes:read\.$/),
        expect.stringMatching(
          /^Valid until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. After that, it is renewed without a login\.$/,
        ),
      ],
    });
    expect(stdout).toContain(`${server.authorization.issuer} granted`);
    expect(stderr.split('\n')).toContain((await server.visited())[0]);
    expect(await who('--no-login')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${server.authorization.issuer}#alice`),
    });
    expect(await server.visited()).toHaveLength(1);
  });

  test('gets the scopes that another command names', async () => {
    await logIn();
    const write = (): Promise<Outcome> => everwire('call', server.url, 'write', '--no-login');
    const { code, stderr } = await write();
    expect(code).toBe(4);
    const [, scopes] =
      /lacks scopes: run "everwire login http:\S+" with --scope for each of these: (.*)$/.exec(stderr) ?? [];
    expect(scopes?.split(', ')).toContain('notes:write');
    await logIn(scopes!.split(', ').flatMap((scope) => ['--scope', scope]));
    expect(await write()).toMatchObject({ code: 0, stdout: 'Written.' });
  });

  test('takes the name of a server in an mcp.json', async () => {
    const file = path.join(server.folder, 'mcp.json');
    await writeFile(file, JSON.stringify({ mcpServers: { notes: { url: server.url } } }));
    const outcome = everwire('login', 'notes', '--config', file);
    const address = await eventually(async () => (await server.visited())[0], 'the browser is opened');
    await browse(new URL(address));
    expect(await outcome).toMatchObject({ code: 0 });
    expect(await who('--no-login')).toMatchObject({ code: 0 });
    expect(await everwire('logout', 'notes', '--config', file)).toMatchObject({ code: 0 });
    expect(await who('--no-login')).toMatchObject({ code: 4 });
  });

  test('logs in again, as another user, with the same client', async () => {
    await logIn();
    expect(await logIn([], (address) => browse(address, 'bob'))).toMatchObject({ code: 0 });
    expect((await who('--no-login')).stdout).toContain('#bob');
    expect(server.authorization.asked.filter((place) => place === '/reg')).toHaveLength(1);
  });

  test('keeps the earlier tokens if the user does not agree', async () => {
    await logIn();
    const { code, stderr } = await logIn([], async (address) => {
      const back = new URL(address.searchParams.get('redirect_uri')!);
      back.searchParams.set('error', 'access_denied');
      back.searchParams.set('state', address.searchParams.get('state')!);
      back.searchParams.set('iss', server.authorization.issuer);
      await fetch(back);
    });
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('access_denied') });
    expect((await who('--no-login')).stdout).toContain('#alice');
  });

  test('stores a registered client, so that other commands can refresh and revoke its tokens', async () => {
    const client_secret = 'the secret of the client';
    await server.close();
    server = await startProtectedServer({
      features: { revocation: { enabled: true } },
      clients: [
        {
          ...{ client_id: 'registered', client_secret, application_type: 'native' },
          grant_types: ['authorization_code', 'refresh_token'],
          redirect_uris: ['http://127.0.0.1/callback'],
        },
      ],
    });
    const secret = path.join(server.folder, 'secret');
    await writeFile(secret, client_secret);
    expect(await logIn(['--client-id', 'registered', '--client-secret', `@${secret}`])).toMatchObject({ code: 0 });
    const folder = path.join(server.folder, 'everwire', 'tokens');
    const file = path.join(
      folder,
      (await readdir(folder)).find((name) => name.endsWith('.json'))!,
    );
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(/("(expires|refresh)At":)\d+/g, '$11'));
    expect((await who('--no-login')).stdout).toContain('#alice');
    expect(server.authorization.asked.filter((place) => place === '/token')).toHaveLength(2);
    expect((await everwire('logout', server.url)).stdout).toContain('has revoked the refresh token. The access token');
    expect(server.authorization.asked).not.toContain('/reg');
  });

  test('opens no browser with --no-open', async () => {
    const { line, exited } = startEverwire(['login', server.url, '--no-open'], server.environment);
    const [address] = await line(/^http:.*redirect_uri=.*$/);
    await browse(new URL(address));
    expect((await exited).code).toBe(0);
    expect(await server.visited()).toEqual([]);
  });

  test('also logs in to a server that answers without a login, if it names an authorization server', async () => {
    const open = createServer();
    onTestFinished(() => void open.close());
    await once(open.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(open.address() as AddressInfo).port}/mcp`;
    const anyone = new McpServer({ name: 'anyone', version: '1.0.0' });
    const metadata = { resource: url, authorization_servers: [server.authorization.issuer] };
    let says = true;
    open.on('request', (request, response) => {
      if (!request.url!.startsWith('/.well-known/oauth-protected-resource')) return anyone.node(request, response);
      response.writeHead(says ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    });
    const { line, exited } = startEverwire(['login', url, '--no-open'], server.environment);
    const [address] = await line(/^http:.*redirect_uri=.*$/);
    await browse(new URL(address));
    expect((await exited).code).toBe(0);
    expect(await stored()).toHaveLength(1);

    says = false;
    expect(await everwire('login', url)).toEqual({
      code: 1,
      stdout: '',
      stderr: `everwire: ${url} requires no login: ${url} has no protected-resource metadata`,
    });
  });

  test.each<[string, string[], RegExp]>([
    ['a command', ['--', 'node'], /^everwire: only a server at a URL has a login, and this one is a command$/],
    ['two servers', ['https://a.example', 'x'], /takes only a target, and not "x"$/],
    [
      'a token',
      ['https://a.example', '--header', 'Authorization: Bearer x'],
      /this server gets an Authorization header/,
    ],
    ['no server', [], /^everwire: a target is missing/],
  ])('does not take %s', async (_, args, message) => {
    expect(await everwire('login', ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });
});

describe.skipIf(process.platform === 'win32')('everwire logout', () => {
  async function refreshed(): Promise<number> {
    const [{ refreshToken, clientId } = { clientId: '' }] = tokens;
    const body = { grant_type: 'refresh_token', refresh_token: refreshToken!, client_id: clientId };
    const form = new URLSearchParams({ ...body, resource: server.url });
    return (await fetch(`${server.authorization.issuer}/token`, { method: 'POST', body: form })).status;
  }
  let tokens: Awaited<ReturnType<typeof stored>>;

  test('deletes the tokens, revokes them, and says what cannot be revoked', async () => {
    await logIn();
    tokens = await stored();
    const { code, stdout, stderr } = await everwire('logout', server.url);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [first, second] = stdout.split('\n');
    expect(first).toBe(`Logged out of ${server.url}. The tokens are deleted.`);
    // This authorization server issues JSON Web Tokens, which nobody can revoke.
    expect(second).toMatch(
      /^http:\S+ has revoked the refresh token\. The access token cannot be revoked, and lasts until \d{4}-.*\.$/,
    );
    expect(await stored()).toEqual([]);
    expect(await refreshed()).toBe(400);
    expect(await who('--no-login')).toMatchObject({ code: 4 });
    expect(await everwire('logout', server.url)).toEqual({
      code: 1,
      stdout: '',
      stderr: `everwire: no login is stored for ${server.url}`,
    });
  });

  test('succeeds if the authorization server has no revocation endpoint, or does not answer', async () => {
    await logIn();
    await server.authorization.close();
    const { code, stdout, stderr } = await everwire('logout', server.url);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Logged out of ${server.url}. The tokens are deleted.` });
    expect(stderr).toMatch(
      /not all tokens were revoked: http:\S+: (ECONNREFUSED|connect ECONNREFUSED).* is valid until/,
    );
    expect(await stored()).toEqual([]);

    await server.close();
    server = await startProtectedServer();
    await logIn();
    expect(await everwire('logout', server.url)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/not all tokens were revoked: http:\S+ has no revocation endpoint\. The access/),
    });
    expect(await stored()).toEqual([]);
  });
});
