import { readFileSync } from 'node:fs';
import { apiKeyAuth } from 'everwire/auth';
import { createHealth, pagesAt } from 'everwire/operate';
import { McpServer } from 'everwire/server';

const server = new McpServer({ name: 'library', version: '1.0.0' });
server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');

const key = readFileSync(process.env['API_KEY_FILE'] ?? '/run/secrets/api-key', 'utf8').trim();
const health = createHealth();

const { url } = await server.listen({
  // Other machines and the host reach a container only through its own address.
  host: '0.0.0.0',
  port: Number(process.env['PORT'] ?? 8000),
  // In addition to loopback: the names under which clients reach the server.
  allowedHosts: ['library'],
  auth: apiKeyAuth({ keys: { [key]: 'clients' } }),
  pages: pagesAt(health.pages),
});
console.error(`listening on ${url}`);

// The first process of a container ignores SIGTERM unless it handles it.
process.once('SIGTERM', () => {
  health.drain();
  void server.close(5_000);
});
