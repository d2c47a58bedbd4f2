import { bearerAuth } from 'everwire/auth';
import { McpServer } from 'everwire/server';
import express from 'express';

const { ORIGIN = 'http://localhost:8000', ISSUER = 'http://localhost:9000' } = process.env;

const app = express();
for (const name of ['library', 'archive']) {
  const auth = bearerAuth({ resource: `${ORIGIN}/${name}/mcp`, issuer: ISSUER });
  const server = new McpServer({ name, version: '1.0.0', http: { auth } });
  server.tool('where', { description: 'Which server this is' }, () => `In the ${name}`);

  app.all(`/${name}/mcp`, server.node);
  app.all(`/.well-known/oauth-protected-resource/${name}/mcp`, server.node);
}

const http = app.listen(Number(process.env['PORT'] ?? 8000), '127.0.0.1', () =>
  console.error('listening', http.address()),
);
