import fastify from 'fastify';
import { server } from './server.ts';

const app = fastify();

app.all('/mcp', (request, reply) => {
  reply.hijack();
  server.node(Object.assign(request.raw, { body: request.body }), reply.raw);
});
app.addHook('preClose', () => server.close(10_000));

await app.listen({ port: Number(process.env['PORT'] ?? 8000), host: '127.0.0.1' });
console.error('listening', app.server.address());

process.once('SIGTERM', () => void app.close());
