import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileTokenStore } from '../../src/auth/index.ts';
import { eventually, root, startNode, type RunningProcess } from '../support/process.ts';

const ends: (() => unknown)[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-refresh-'));
});

afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  rmSync(folder, { recursive: true });
});

/** An authorization server whose refresh tokens work once. It answers when a given number of requests has arrived. */
async function authorizationServer(awaited: number) {
  let good = 'refresh-0';
  let issued = 0;
  let found = 0;
  const refreshes: (string | null)[] = [];
  const held: (() => void)[] = [];
  const json = (response: ServerResponse, body: object, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request;
    if (url === '/.well-known/oauth-protected-resource/mcp') {
      json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    } else if (url === '/.well-known/oauth-authorization-server') {
      found += 1;
      json(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      });
      if (found >= awaited) for (const release of held.splice(0)) release();
    } else if (url === '/token') {
      const token = new URLSearchParams(await text(request)).get('refresh_token');
      refreshes.push(token);
      if (found < awaited) await new Promise<void>((resolve) => held.push(resolve));
      if (token !== good) return json(response, { error: 'invalid_grant' }, 400);
      issued += 1;
      good = `refresh-${issued}`;
      const tokens = { access_token: `access-${issued}`, token_type: 'Bearer', expires_in: 3600 };
      json(response, { ...tokens, refresh_token: good });
    } else {
      json(response, {}, 404);
    }
  }

  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `${origin}/mcp`, origin, refreshes };
}

test('two processes with the same expired token refresh it once, and both continue with the new one', async () => {
  const { url, origin, refreshes } = await authorizationServer(2);
  await new FileTokenStore(folder).set(
    { server: url, issuer: origin },
    {
      tokens: {
        accessToken: 'access-0',
        tokenType: 'Bearer',
        scopes: [],
        resource: url,
        clientId: 'the-client',
        refreshToken: 'refresh-0',
        expiresAt: Date.now() - 1000,
        refreshAt: Date.now() - 31_000,
      },
    },
  );
  const processes: RunningProcess[] = [1, 2].map(() => startNode([`${root}test/fixtures/refresher.mjs`, url, folder]));
  ends.push(...processes.map((each) => () => each.stop()));
  await Promise.all(processes.map((each) => each.line(/^ready$/)));
  for (const each of processes) each.child.stdin!.write('go\n');
  await eventually(() => processes.every(({ stdout }) => stdout.length > 0), 'both have a token');
  expect(processes.map(({ stdout }) => stdout)).toEqual([['Bearer access-1'], ['Bearer access-1']]);
  expect(refreshes).toEqual(['refresh-0']);
});
