import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { McpServer } from '../../src/server/index.ts';

/** A server with Streamable HTTP at `/mcp` and HTTP+SSE at `/sse`, until the test ends, and its requests. */
export async function recordedHttp() {
  const asked: string[] = [];
  const server = new McpServer({ name: 'recorded', version: '1.0.0', http: { path: '/mcp', ssePath: '/sse' } });
  server.tool('there', {}, () => 'it is there');
  const listener = createServer((request, response) => {
    asked.push(`${request.method} ${request.url!.split('?')[0]}`);
    server.node(request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await server.close();
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  });
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return { asked, url: `${origin}/mcp`, sseUrl: `${origin}/sse` };
}
