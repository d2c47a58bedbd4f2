import { McpServer } from 'everwire/server';

const server = new McpServer({
  name: 'library',
  version: '1.0.0',
  // Must be the same in every process. Read it from your secret store.
  stateKey: process.env['STATE_KEY'],
  http: {
    // The public host name, which the proxy passes on in the Host header.
    allowedHosts: ['mcp.library.example'],
    // Web pages that may call the server. By default, none may.
    allowedOrigins: ['https://app.library.example'],
    maxBodyBytes: 1024 * 1024,
    maxSessions: 2_000,
    idleTimeout: 10 * 60_000,
    // The proxy ends responses after a minute. Close streams before that, so that clients reconnect and resume.
    streamDuration: 50_000,
  },
  onerror: (error) => console.error(error.message),
});

server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');

const { url } = await server.listen({ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 8000) });
console.error(`listening on ${url}`);

process.once('SIGTERM', () => void server.close(10_000));
