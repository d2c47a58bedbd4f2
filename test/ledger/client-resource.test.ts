import { expect, test } from 'vitest';
import { anyToken, OAuthWorld, send } from '../support/oauth-world.ts';

const METADATA = 'https://mcp.example/.well-known/oauth-protected-resource';

test('the URLs of a server and of its metadata are compared without case', async () => {
  const world = new OAuthWorld();
  world.resource({ resource: 'HTTPS://MCP.EXAMPLE/mcp' });
  const authorizer = world.authorizer({ server: 'HTTPS://MCP.Example/mcp' });
  expect((await send(authorizer, anyToken)).let).toBe(true);
  expect(world.tokenRequests).toHaveLength(1);
});

test.each([
  ['https://mcp.example/', 'https://mcp.example'],
  ['https://mcp.example', 'https://mcp.example'],
  ['https://mcp.example/mcp', 'https://mcp.example/mcp'],
  ['https://mcp.example/mcp?tenant=7#top', 'https://mcp.example/mcp'],
])('a server at %s is the resource %s, without query and fragment', async (server, resource) => {
  const world = new OAuthWorld();
  // A server without metadata does not say its own name.
  world.documents.delete(`${METADATA}/mcp`);
  expect((await send(world.authorizer({ server }), anyToken, { url: new URL(server) })).let).toBe(true);
  expect(world.loginUrls.map((url) => url.searchParams.get('resource'))).toEqual([resource]);
  expect(world.tokenRequests.map((form) => form['resource'])).toEqual([resource]);
});
