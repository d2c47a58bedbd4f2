import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { bearerAuth } from 'everwire/auth';
import { createHealth, createLog, createMetrics, logCalls, pagesAt } from 'everwire/operate';
import { McpServer, rateLimit, UserError } from 'everwire/server';
import { z } from 'zod';

/** A setting from the environment. A server with a missing setting must not start. */
function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`The environment variable ${name} is missing`);
  return value;
}

// The URL that clients use: https://mcp.example.com/mcp
const resource = setting('RESOURCE');
// The same in every process. From a file, because other programs can read the environment of a process.
const stateKey = readFileSync(setting('STATE_KEY_FILE'), 'utf8').trim();

const log = await createLog({ format: 'json', secrets: [stateKey] });
const metrics = await createMetrics();

const books = new Map([['Momo', 'on the shelf']]);
const health = createHealth({ catalogue: () => (books.size > 0 ? undefined : 'empty') });

const server = new McpServer({
  name: 'library',
  version: '1.0.0',
  stateKey,
  http: {
    auth: bearerAuth({
      resource,
      issuer: setting('ISSUER'),
      scopes: ['library:read'],
      scopesSupported: ['library:read', 'library:write'],
    }),
    allowedHosts: [new URL(resource).hostname],
    pages: pagesAt({ ...health.pages, '/metrics': metrics.page() }),
    maxBodyBytes: 256 * 1024,
    maxBufferedBytes: 128 * 1024 * 1024,
    maxSessions: 2_000,
    onrefusal: metrics.refused,
  },
  onerror: (error) => log.write('error', error.message, { detail: inspect(error.cause ?? error) }),
});

// The first middleware is the outermost one: refused calls are counted and logged, too.
server.use(metrics.middleware('library'), logCalls(log, 'library'), rateLimit({ perMinute: 60, burst: 20 }));

const title = z.string().min(1).max(200);

server.tool(
  'find',
  { description: 'Where a book is', input: z.object({ title }), annotations: { readOnlyHint: true } },
  (args) => books.get(args.title) ?? 'not in the catalogue',
);

server.tool(
  'lend',
  { description: 'Lends a book', input: z.object({ title }), scopes: ['library:write'] },
  (args, { caller }) => {
    if (!books.has(args.title)) throw new UserError(`There is no book called ${args.title}.`);
    books.set(args.title, `lent to ${caller.principal}`);
    return 'Lent.';
  },
);

const listener = await server.listen({
  host: process.env['HOST'] ?? '127.0.0.1',
  port: Number(process.env['PORT'] ?? 8000),
});
metrics.gauge('everwire_sessions', 'Live sessions', () => listener.handler.sessions);
metrics.gauge('everwire_http_buffered_bytes', 'Memory for HTTP clients', () => listener.handler.bufferedBytes);
log.write('info', 'listening', { url: listener.url });

async function stop(signal: string): Promise<void> {
  log.write('info', 'stopping', { signal });
  health.drain();
  await server.close(10_000);
  log.write('info', 'stopped');
}
process.once('SIGTERM', (signal) => void stop(signal));
process.once('SIGINT', (signal) => void stop(signal));
