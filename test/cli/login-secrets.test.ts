import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import { startEverwire } from '../support/command-line.ts';
import { startServerWithLogin, storeLogin } from './stored-login.ts';

const OLD = 'the-old-access-token';
const NEW = 'the-new-access-token';

/** What commands need to have a login at the server. */
let env: Record<string, string>;
let url: string;

/** A server with a stored login. It refuses the old token, and repeats both in all errors. */
beforeEach(async () => {
  const origin = await startServerWithLogin({
    mcp: (request, response, send) => {
      const answer = (body: string): void => {
        if (request.headers.authorization !== `Bearer ${NEW}`) return void send({}, 401);
        const id = /"id":("\w+"|\d+)/.exec(body)?.[1];
        if (id === undefined) return void response.writeHead(202).end();
        const message = { jsonrpc: '2.0', id: JSON.parse(id) as unknown };
        const serverInfo = { name: 'notes', version: '1.0.0' };
        if (body.includes('"initialize"'))
          send({ ...message, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
        else send({ ...message, error: { code: -32_000, message: `not for ${NEW}, which replaces ${OLD}` } });
      };
      if (request.method === 'POST') void text(request).then(answer);
      else send({}, 404);
    },
    token: (send) => void send({ access_token: NEW, token_type: 'Bearer', expires_in: 3600 }),
  });
  const [expiresAt, refreshAt] = [Date.now() + 3600_000, Date.now() + 3000_000];
  const login = await storeLogin(origin, { accessToken: OLD, refreshToken: 'refresh', expiresAt, refreshAt });
  env = login.env;
  url = login.key.server;
});

test.each([
  ['the error of a call', (target: string) => ['call', target, 'search']],
  ['the report of a check', (target: string) => ['check', target]],
])('a token that the server repeats is not in %s', async (_what, args) => {
  const command = startEverwire(args(url), env);
  await command.exited;
  const shown = [...command.stdout, ...command.stderr].join(' ').replace(/\s+/g, ' ');
  expect(shown).toContain('not for [redacted], which replaces [redacted]');
  expect(shown).not.toMatch(/the-(?:old|new)-access-token/);
});
