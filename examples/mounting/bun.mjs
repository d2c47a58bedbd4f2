import { server } from './server.ts';

const http = Bun.serve({
  port: Number(process.env.PORT ?? 8000),
  hostname: '127.0.0.1',
  // Seconds. Bun closes a stream that is silent for longer. The server sends something every 15 seconds.
  idleTimeout: 30,
  fetch: (request) => server.fetch(request),
});
console.error('listening', { port: http.port });

async function stop() {
  await server.close(10_000);
  await http.stop();
}
process.once('SIGTERM', () => void stop());
