import { createHealth, pagesAt } from 'everwire/operate';
import { server } from './server.ts';

if (process.argv.includes('--stdio')) {
  await server.stdio();
} else {
  const { HOST = '127.0.0.1', PORT = '8000', ALLOWED_HOSTS } = process.env;
  const health = createHealth();
  const { url } = await server.listen({
    host: HOST,
    port: Number(PORT),
    // The host names that clients use, for example `mcp.example.com`. Loopback and IP addresses need no entry.
    allowedHosts: ALLOWED_HOSTS?.split(','),
    pages: pagesAt(health.pages),
  });
  const stop = (): void => {
    health.drain();
    void server.close();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  console.error(`listening on ${url}`);
}
