import { apiKeyAuth } from 'everwire/auth';
import { connect } from 'everwire/client';
import { expect, test } from 'vitest';
import { createServer } from './server.ts';

test('a key without the scope is refused with status 403', async () => {
  const server = createServer();
  const auth = apiKeyAuth({ keys: { 'a-key': { principal: 'ada', scopes: ['notes:read'] } } });
  await using listener = await server.listen({ port: 0, auth });
  await using client = await connect(listener.url, { headers: { 'x-api-key': 'a-key' } });
  await expect(client.callTool('add_note', { title: 'Milk', text: '2 litres' })).rejects.toThrow('403');
});
