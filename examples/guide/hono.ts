import { Hono } from 'hono';
import { server } from './tools.ts';

export const app = new Hono();

app.all('/mcp', (c) => server.fetch(c.req.raw));
