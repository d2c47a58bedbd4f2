import { McpServer } from 'everwire/server';

const server = new McpServer({
  name: 'library',
  version: '1.0.0',
  // The same in every process, from where your secrets are kept.
  stateKey: process.env['STATE_KEY'],
  http: {
    // The name by which clients know the server, for the proxy passes it on.
    allowedHosts: ['mcp.library.example'],
    // Pages that may talk to it. None, unless you name them.
    allowedOrigins: ['https://app.library.example'],
    maxBodyBytes: 1024 * 1024,
    maxSessions: 2_000,
    idleTimeout: 10 * 60_000,
    // Ends streams before a proxy does that allows a minute; clients come back for the rest.
    streamDuration: 50_000,
  },
  onerror: (error) => console.error(error.message),
});

server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');

const { url } = await server.listen({ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 8000) });
console.error(`listening on ${url}`);

process.once('SIGTERM', () => void server.close(10_000));
