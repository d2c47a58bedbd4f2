import { testClient } from 'everwire/testing';
import { expect, test } from 'vitest';
import { createServer } from './server.ts';

const note = { title: 'Milk', text: '2 litres' };

test('only principals with the scope notes:write can add notes', async () => {
  const server = createServer();
  await using reader = await testClient(server, { principal: 'ada', scopes: ['notes:read'] });
  await expect(reader.callTool('add_note', note)).rejects.toThrow('notes:write');

  await using writer = await testClient(server, { principal: 'ada', scopes: ['notes:write'] });
  expect(await writer.callTool('add_note', note)).toMatchObject({ content: [{ text: 'Added Milk.' }] });
});
