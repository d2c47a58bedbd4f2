import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createHttpHandler, fetchListener, nodeListener } from 'everwire/http';

const handler = createHttpHandler({
  // Called once for each session, with the transport of that session.
  async onsession(transport) {
    const server = new McpServer({ name: 'official', version: '1.0.0' });
    server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'Hello!' }] }));
    await server.connect(transport);
  },
});

export const http = createServer(nodeListener(handler));
export const fetch = fetchListener(handler);
