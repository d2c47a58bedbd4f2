import { describe, expect, onTestFinished, test } from 'vitest';
import { customRedirect } from '../../src/auth/index.ts';
import { connect } from '../../src/client/connect.ts';
import { event, events, json, scripted } from '../support/http-server.ts';
import { MODERN } from '../support/modern.ts';
import { anyToken, ISSUER, OAuthWorld, send } from '../support/oauth-world.ts';

describe('OpenID metadata', () => {
  const place = `${ISSUER}/.well-known/openid-configuration`;

  function world(members: object): OAuthWorld {
    const made = new OAuthWorld();
    made.documents.delete(`${ISSUER}/.well-known/oauth-authorization-server`);
    made.issuer(ISSUER, members, place);
    return made;
  }

  test('without PKCE ends the login before the user is asked', async () => {
    const silent = world({ code_challenge_methods_supported: undefined });
    await expect(send(silent.authorizer())).rejects.toMatchObject({ code: 'pkce_unsupported' });
    expect(silent.loginUrls).toEqual([]);
    expect(silent.tokenRequests).toEqual([]);
  });

  test('that lists S256 is enough', async () => {
    const able = world({});
    expect((await send(able.authorizer())).let).toBe(true);
    expect(able.loginUrls[0]!.searchParams.get('code_challenge_method')).toBe('S256');
  });
});

describe('a redirect URI', () => {
  const REFUSED = [
    'http://app.example/callback',
    'http://10.0.0.1/callback',
    'http://localhost.app.example/callback',
    'notes-app://callback',
    'com.example.notes:/callback',
    '/callback',
    '',
  ];

  test.each(REFUSED)('%j is refused in the client metadata', (redirectUri) => {
    expect(() => customRedirect(redirectUri, () => Promise.reject(new Error('asked')))).toThrow(TypeError);
  });

  test.each(REFUSED)('%j is refused for a custom redirect, and the user is not asked', async (redirectUri) => {
    const world = new OAuthWorld();
    const redirect = { start: async () => ({ ...(await world.redirect.start([])), redirectUri }) };
    await expect(send(world.authorizer({ redirect }))).rejects.toThrow('A redirect URI must be https');
    expect([world.loginUrls, world.registrations, world.tokenRequests]).toEqual([[], [], []]);
  });

  test.each([
    'https://app.example/callback',
    'http://localhost:7777/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:1/callback',
  ])('%j is accepted', async (redirectUri) => {
    const world = new OAuthWorld();
    const redirect = customRedirect(redirectUri, async (request) => {
      const login = await world.redirect.start([]);
      return login.authorize(request);
    });
    expect((await send(world.authorizer({ redirect }), anyToken)).let).toBe(true);
    expect(world.loginUrls[0]!.searchParams.get('redirect_uri')).toBe(redirectUri);
  });
});

test('the token is in the header of every request, and never in the URL', async () => {
  const server = await scripted(({ headers, body }, response) => {
    const { id, method } = body;
    if (headers.authorization !== 'Bearer token') response.writeHead(401).end();
    else if (method === 'subscriptions/listen') {
      const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: {} };
      events(response, event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params }));
    } else {
      const result = { supportedVersions: [MODERN], capabilities: {}, tools: [], content: [] };
      json(response, { jsonrpc: '2.0', id, result });
    }
  });
  const granted: Record<string, string> = {};
  const client = await connect(server.url, {
    eras: 'modern',
    authorizer: {
      headers: async () => ({ ...granted }),
      refused: async () => {
        granted['authorization'] = 'Bearer token';
        return true;
      },
    },
  });
  onTestFinished(() => client.close());
  await client.listTools();
  await client.callTool('a');
  await client.subscribe({ toolsListChanged: true }, () => {});
  const [first, ...others] = server.asked;
  expect(first!.headers.authorization).toBeUndefined();
  expect(new Set(others.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer token']));
  expect(new Set(others.map(({ body }) => body.method))).toEqual(
    new Set(['server/discover', 'tools/list', 'tools/call', 'subscriptions/listen']),
  );
  expect(new Set(server.asked.map(({ path }) => path))).toEqual(new Set(['/mcp']));
});

test.each([
  ['https://mcp.example/', 'https://mcp.example'],
  ['https://mcp.example', 'https://mcp.example'],
  ['HTTPS://MCP.Example:443/mcp', 'https://mcp.example/mcp'],
  ['https://mcp.example:8443/a/b?tenant=1#top', 'https://mcp.example:8443/a/b'],
])('a server at %s without metadata is the resource %s', async (address, resource) => {
  const world = new OAuthWorld();
  world.documents.clear();
  const url = new URL(address);
  expect((await send(world.authorizer({ server: address }), anyToken, { url })).let).toBe(true);
  expect(world.loginUrls[0]!.searchParams.get('resource')).toBe(resource);
  expect(world.tokenRequests[0]!['resource']).toBe(resource);
});
