import { McpServer } from 'everwire/server';

function createServer(): McpServer {
  const server = new McpServer({ name: 'library', version: '1.0.0' });
  server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');
  return server;
}

// Next loads this module more than once: for the routes, and for instrumentation.ts.
const shared = globalThis as { mcpServer?: McpServer };

export const server = (shared.mcpServer ??= createServer());
