import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { server } from './protected.ts';

const api = new Hono();
api.all('/mcp', (c) => server.fetch(c.req.raw));

const app = new Hono();
app.route('/api', api);
// The pattern matches the path without a slash at its end, too.
app.all('/.well-known/oauth-protected-resource/*', (c) => server.fetch(c.req.raw));

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 8000), hostname: '127.0.0.1' }, (address) =>
  console.error('listening', address),
);
