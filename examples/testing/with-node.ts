import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testClient } from 'everwire/testing';
import { createServer } from './server.ts';

test('a note can be read after it was added', async () => {
  await using client = await testClient(createServer());

  const { content } = await client.callTool('add_note', { title: 'Milk', text: '2 litres' });
  assert.deepEqual(content, [{ type: 'text', text: 'Added Milk.' }]);
});
