import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { server } from './server.ts';

const app = new Hono();
app.all('/mcp', (c) => server.fetch(c.req.raw));

const http = serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 8000), hostname: '127.0.0.1' }, (address) =>
  console.error('listening', address),
);

async function stop(): Promise<void> {
  await server.close(10_000);
  http.close();
}
process.once('SIGTERM', () => void stop());
