import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { OAuthTokenVerifier } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { McpServer } from 'everwire/server';
import express from 'express';

const server = new McpServer({ name: 'notes', version: '1.0.0' });

server.tool('who', { scopes: ['notes'] }, (_, { caller }) => caller.principal ?? 'nobody');

/** Keeps the middleware of the official SDK, which puts the caller into `request.auth`. */
export function createApp(verifier: OAuthTokenVerifier): express.Express {
  const app = express();
  app.use(express.json());
  app.use('/mcp', requireBearerAuth({ verifier }));
  app.all('/mcp', (request, response) => {
    const { clientId, scopes } = request.auth!;
    server.node(Object.assign(request, { authInfo: { principal: clientId, scopes } }), response);
  });
  return app;
}
