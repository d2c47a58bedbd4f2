import { expect, onTestFinished, test, vi } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from '../server/mcp-server.ts';
import { connect } from './connect.ts';

test('a question whose answer cannot be written as JSON gets an error', async () => {
  const server = new McpServer({ name: 'library', version: '1.0.0' });
  server.tool('lend', {}, (_, context) =>
    context.elicit({ message: 'How long?', schema: { type: 'object', properties: {} } }).then(
      ({ action }) => action,
      ({ message }: Error) => message,
    ),
  );
  const { url, close } = await server.listen({ port: 0 });
  onTestFinished(() => close(0));
  const onerror = vi.fn<(error: Error) => void>();
  const client = await connect(url, {
    revision: '2025-11-25',
    onelicit: () => ({ action: 'accept', content: { days: 1n } as JsonObject }),
    onerror,
  });
  onTestFinished(() => client.close());
  const { content } = await client.callTool('lend', {}, { timeout: 2000 });
  expect(content).toEqual([{ type: 'text', text: 'The answer cannot be written as JSON' }]);
  expect(onerror).toHaveBeenCalledOnce();
});
