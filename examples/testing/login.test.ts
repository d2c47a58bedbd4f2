import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bearerAuth, loopbackRedirect, oauth } from 'everwire/auth';
import { connect } from 'everwire/client';
import { createHttpHandler, nodeListener } from 'everwire/http';
import { OAuth2Server } from 'oauth2-mock-server';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from './server.ts';

/** Starts an authorization server, and the server of notes, which accepts its tokens. */
async function startProtected(): Promise<string> {
  const authorization = new OAuth2Server();
  await authorization.issuer.keys.generate('RS256');
  await authorization.start(0, '127.0.0.1');
  onTestFinished(() => authorization.stop());

  const http = createHttpServer();
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const resource = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const auth = bearerAuth({ resource, issuer: authorization.issuer.url!, scopes: ['notes:write'] });
  const handler = createHttpHandler({ service: createServer().service, auth });
  http.on('request', nodeListener(handler));
  onTestFinished(async () => {
    await handler.close();
    http.close();
  });

  // What the tokens say.
  authorization.service.on('beforeTokenSigning', ({ payload }) => {
    Object.assign(payload, { aud: resource, sub: 'ada', scope: 'notes:write' });
  });
  return resource;
}

test('the client logs in when the server asks for a token', async () => {
  const url = await startProtected();
  const authorizer = oauth({
    client: { clientId: 'notes-client' },
    // In place of a browser: this authorization server shows no page, and redirects at once.
    redirect: loopbackRedirect({ open: async (address) => (await fetch(address)).ok }),
  });
  await using client = await connect(url, { authorizer });
  const { content } = await client.callTool('add_note', { title: 'Milk', text: '2 litres' });
  expect(content).toEqual([{ type: 'text', text: 'Added Milk.' }]);
});
