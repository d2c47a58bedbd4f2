import type { CheckedServer } from '../../src/check/server.ts';
import { McpServer } from '../../src/server/index.ts';

/** A server that asks the user, the model and for roots. */
export async function askingServer(
  over: 'mcp' | 'sse',
): Promise<{ server: CheckedServer; close: () => Promise<void> }> {
  const http = { path: '/mcp', ssePath: '/sse' };
  const server = new McpServer({ name: 'asking', version: '1.0.0', http, onerror: () => {} });
  server.tool('ask', { description: 'Asks' }, async (_, context) => {
    const form = { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } } as const;
    const questions = [context.elicit(form), context.sample({ messages: [], maxTokens: 1 }), context.roots()];
    return JSON.stringify(await Promise.allSettled(questions));
  });
  server.resource('asking://fixed', { name: 'fixed' }, () => 'fixed');
  const listener = await server.listen({ port: 0 });
  const url = new URL(`/${over}`, listener.url);
  return {
    server: { kind: 'url', url, headers: {}, transport: over === 'sse' ? 'sse' : undefined },
    close: () => listener.close(),
  };
}
