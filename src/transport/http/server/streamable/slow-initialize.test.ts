import { expect, test } from 'vitest';
import { resultResponse, type Request as RpcRequest } from '../../../../jsonrpc/message.ts';
import type { Transport } from '../../../transport.ts';
import { fetchListener } from '../fetch.ts';
import { createHttpHandler } from '../handler.ts';

test('a response to initialize on a stream has the session id in its header', async () => {
  let answer!: () => void;
  const handler = createHttpHandler({
    grace: 1,
    onsession: async (transport: Transport) => {
      transport.onmessage = ({ id }: RpcRequest) => {
        answer = () => void transport.send(resultResponse(id, { protocolVersion: '2025-11-25' }));
      };
      await transport.start();
    },
  });
  const serve = fetchListener(handler);
  const response = await serve(
    new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }),
    }),
  );
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]+$/);
  answer();
  expect(await response.text()).toContain('"protocolVersion":"2025-11-25"');
  await handler.close();
});
