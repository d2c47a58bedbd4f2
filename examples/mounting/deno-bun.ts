import { server } from './server.ts';

export default {
  // Seconds. Bun closes a stream that is silent for longer. The server sends something every 15 seconds.
  idleTimeout: 30,
  fetch: (request: Request) => server.fetch(request),
};

async function stop(): Promise<void> {
  await server.close(10_000);
  process.exit();
}
process.once('SIGTERM', () => void stop());
