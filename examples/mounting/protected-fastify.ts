import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { server } from './protected.ts';

function handle(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  server.node(Object.assign(request.raw, { body: request.body }), reply.raw);
}

const app = fastify();
app.register(
  (api, _options, done) => {
    api.all('/mcp', handle);
    done();
  },
  { prefix: '/api' },
);
app.all('/.well-known/oauth-protected-resource', handle);
app.all('/.well-known/oauth-protected-resource/*', handle);

await app.listen({ port: Number(process.env['PORT'] ?? 8000), host: '127.0.0.1' });
console.error('listening', app.server.address());
