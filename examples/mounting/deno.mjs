import { server } from './server.ts';

const http = Deno.serve({ port: Number(process.env.PORT ?? 8000), hostname: '127.0.0.1' }, (request) =>
  server.fetch(request),
);
console.error('listening', { port: http.addr.port });

async function stop() {
  await server.close(10_000);
  await http.shutdown();
}
process.once('SIGTERM', () => void stop());
