import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { bearerAuth } from '../../src/auth/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { browse, startAuthorizationServer, type AuthorizationServer } from '../support/oidc-provider.ts';
import { eventually, programs, root, startNode } from '../support/process.ts';

let authorization: AuthorizationServer;
let server: McpServer;
let http: Server;
let url: string;
let folder: string;
let environment: Record<string, string>;

beforeEach(async () => {
  // It prints a long warning about use in production.
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  authorization = await startAuthorizationServer('notes:read');
  http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const auth = bearerAuth({ resource: url, issuer: authorization.issuer, scopes: ['notes:read'] });
  server = new McpServer({ name: 'notes', version: '1.0.0', http: { auth } });
  server.tool('who', {}, (_, { caller }) => String(caller.principal));
  http.on('request', server.node);

  folder = await mkdtemp(path.join(tmpdir(), 'everwire-login-'));
  // A browser that only records the URL.
  for (const name of ['xdg-open', 'open']) {
    const file = path.join(folder, name);
    await writeFile(file, `#!/bin/sh\nprintf '%s\\n' "$1" >> '${folder}/visited'\n`);
    await chmod(file, 0o755);
  }
  environment = { PATH: `${folder}:${process.env['PATH']}`, XDG_DATA_HOME: folder, HOME: folder };
});
afterEach(async () => {
  await server.close();
  http.closeAllConnections();
  await new Promise((resolve) => void http.close(resolve));
  await authorization.close();
  await rm(folder, { recursive: true });
  vi.restoreAllMocks();
});

async function visited(): Promise<string[]> {
  const text = await readFile(path.join(folder, 'visited'), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

/** Starts the bridge without a terminal, as the configuration of a desktop application does. */
function desktop(...options: string[]): { client: Client; ready: Promise<void>; said: string[] } {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...programs.everwire, 'bridge', '--stdio', ...options, url],
    env: environment,
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

async function who(client: Client): Promise<string> {
  return ((await client.callTool({ name: 'who', arguments: {} })).content as { text: string }[])[0]!.text;
}

describe.skipIf(process.platform === 'win32')('a bridge to a server that requires a login', () => {
  test('opens the browser once if it is started several times at once, and not at all later', async () => {
    const applications = [desktop(), desktop(), desktop()];
    const [address] = await eventually(async () => {
      const seen = await visited();
      return seen.length > 0 && seen;
    }, 'the browser is opened');
    await browse(new URL(address!));
    await Promise.all(applications.map(({ ready }) => ready));
    for (const { client } of applications) expect(await who(client)).toBe(`${authorization.issuer}#alice`);
    expect(applications.filter(({ said }) => said.join('').includes('asks you to log in'))).toHaveLength(1);
    // A user without a browser on this machine opens the URL elsewhere.
    expect(applications.flatMap(({ said }) => said.join('').split('\n'))).toContain(address);

    const later = desktop('--no-login');
    await later.ready;
    expect(await who(later.client)).toBe(`${authorization.issuer}#alice`);
    expect(await visited()).toHaveLength(1);
    expect(authorization.asked.filter((place) => place === '/reg')).toHaveLength(1);
    expect(authorization.asked.filter((place) => place === '/token')).toHaveLength(1);
    expect(await readdir(path.join(folder, 'everwire', 'tokens'))).toHaveLength(1);
  });

  test('prints what to do if there is no user, and opens no browser', async () => {
    const bridge = startNode([...programs.everwire, 'bridge', '--port', '0', url], environment);
    expect((await bridge.exited).code).toBe(1);
    expect(bridge.stderr.join('\n')).toMatch(/127\.0\.0\.1:\d+ requires a login: run the command on a terminal/);
    const { ready, said } = desktop('--no-login');
    await expect(ready).rejects.toThrow(
      /requires a login: run the command without --no-login, or add --header with a token/,
    );
    expect(said.join('')).toContain('without --no-login');
    expect(await visited()).toEqual([]);
  });

  test('uses given credentials and no others', async () => {
    const { ready } = desktop('--header', 'Authorization: Bearer not-a-token-of-this-server');
    await expect(ready).rejects.toThrow(/401/);
    expect(await visited()).toEqual([]);
  });
});
