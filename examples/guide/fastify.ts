import fastify from 'fastify';
import { server } from './tools.ts';

export const app = fastify();

app.all('/mcp', (request, reply) => {
  reply.hijack();
  server.node(Object.assign(request.raw, { body: request.body }), reply.raw);
});
