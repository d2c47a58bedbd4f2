import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { browse } from '../support/oidc-provider.ts';
import { eventually, programs, root, startNode } from '../support/process.ts';
import { startProtectedServer, type ProtectedServer } from '../support/protected-server.ts';

let server: ProtectedServer;

beforeEach(async () => {
  // It prints a long warning about use in production.
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  server = await startProtectedServer();
});
afterEach(async () => {
  await server.close();
  vi.restoreAllMocks();
});

interface Application {
  readonly client: Client;
  readonly ready: Promise<void>;
  readonly said: string[];
}

/** Starts the bridge without a terminal, as the configuration of a desktop application does. */
function desktop(...options: string[]): Application {
  return started(...options, server.url);
}

function started(...args: string[]): Application {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...programs.everwire, 'bridge', '--stdio', ...args],
    env: server.environment,
    cwd: root,
    stderr: 'pipe',
  });
  const said: string[] = [];
  transport.stderr!.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const client = new Client({ name: 'desktop', version: '1.0.0' });
  onTestFinished(() => client.close());
  const ready = client.connect(transport);
  ready.catch(() => {});
  return { client, ready, said };
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

async function who(client: Client): Promise<string> {
  return ((await client.callTool({ name: 'who', arguments: {} })).content as { text: string }[])[0]!.text;
}

describe.skipIf(process.platform === 'win32')('a bridge to a server that requires a login', () => {
  test('opens the browser once if it is started several times at once, and not at all later', async () => {
    const applications = [desktop(), desktop(), desktop()];
    const [address] = await eventually(async () => {
      const seen = await server.visited();
      return seen.length > 0 && seen;
    }, 'the browser is opened');
    await browse(new URL(address!));
    await Promise.all(applications.map(({ ready }) => ready));
    for (const { client } of applications)
      expect(await who(client)).toBe(`${server.authorization.issuer}#alice notes:read`);
    expect(applications.filter(({ said }) => said.join('').includes('asks you to log in'))).toHaveLength(1);
    // A user without a browser on this machine opens the URL elsewhere.
    expect(applications.flatMap(({ said }) => said.join('').split('\n'))).toContain(address);

    const later = desktop('--no-login');
    await later.ready;
    expect(await who(later.client)).toBe(`${server.authorization.issuer}#alice notes:read`);
    expect(await server.visited()).toHaveLength(1);
    expect(server.authorization.asked.filter((place) => place === '/reg')).toHaveLength(1);
    expect(server.authorization.asked.filter((place) => place === '/token')).toHaveLength(1);
    expect(await readdir(path.join(server.folder, 'everwire', 'tokens'))).toHaveLength(1);
  });

  test('prints what to do if there is no user, and opens no browser', async () => {
    const bridge = startNode([...programs.everwire, 'bridge', '--port', '0', server.url], server.environment);
    expect((await bridge.exited).code).toBe(1);
    expect(bridge.stderr.join('\n')).toMatch(
      /127\.0\.0\.1:\d+ requires a login: run "everwire login http:\/\/127\.0\.0\.1:\d+\/mcp"/,
    );
    const { ready, said } = desktop('--no-login');
    await expect(ready).rejects.toThrow(
      /requires a login: run "everwire login http:\S+", or the command without --no-login, or add --header with a token/,
    );
    expect(said.join('')).toContain('without --no-login');
    expect(await server.visited()).toEqual([]);
  });

  test('uses given credentials and no others', async () => {
    const { ready } = desktop('--header', 'Authorization: Bearer not-a-token-of-this-server');
    await expect(ready).rejects.toThrow(/401/);
    expect(await server.visited()).toEqual([]);
  });

  test.each(['options', 'an mcp.json'])('logs in as %s say', async (place) => {
    const port = await freePort();
    const redirectUri = `http://localhost:${port}/callback`;
    const secret = 'the secret of the client';
    await server.close();
    server = await startProtectedServer({
      clients: [
        {
          client_id: 'registered',
          client_secret: secret,
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
          application_type: 'native',
        },
      ],
    });
    const inFolder = (name: string): string => path.join(server.folder, name);
    await writeFile(inFolder('secret'), `${secret}\n`);
    const oauth = { clientId: 'registered', clientSecret: secret, callbackPort: port, scopes: 'notes:write' };
    await writeFile(inFolder('mcp.json'), JSON.stringify({ mcpServers: { notes: { url: server.url, oauth } } }));
    const given = ['--client-id', 'registered', '--client-secret', `@${inFolder('secret')}`];
    const { client, ready, said } =
      place === 'options'
        ? desktop(...given, '--callback-port', String(port), '--scope', 'notes:write')
        : started('--config', inFolder('mcp.json'));
    const [address] = await eventually(async () => {
      const seen = await server.visited();
      return seen.length > 0 && seen;
    }, 'the browser is opened');
    const asked = new URL(address!).searchParams;
    expect(asked.get('client_id')).toBe('registered');
    expect(asked.get('redirect_uri')).toBe(redirectUri);
    expect(asked.get('scope')!.split(' ').toSorted()).toEqual(['notes:read', 'notes:write', 'offline_access']);
    await browse(new URL(address!));
    await ready;
    expect(await who(client)).toMatch(/#alice notes:(read notes:write|write notes:read)$/);
    expect(server.authorization.asked).not.toContain('/reg');
    expect(said.join('')).not.toContain(secret);
  });
});
