import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A server for one connection. The official SDK needs one for each connection. */
export function createServer(): McpServer {
  const server = new McpServer({ name: 'sdk-v2', version: '1.0.0' });
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  return server;
}
