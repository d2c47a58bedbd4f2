import { testClient } from 'everwire/testing';
import { expect, test } from 'vitest';
import { createServer } from './server.ts';

test('a note can be read after it was added', async () => {
  await using client = await testClient(createServer());

  const { content } = await client.callTool('add_note', { title: 'Milk', text: '2 litres' });
  expect(content).toEqual([{ type: 'text', text: 'Added Milk.' }]);

  const { contents } = await client.readResource('notes://all');
  expect(contents).toMatchObject([{ text: 'Milk: 2 litres' }]);
});

test('a note needs a title', async () => {
  await using client = await testClient(createServer());

  const { isError, content } = await client.callTool('add_note', { title: '', text: '2 litres' });
  expect(isError).toBe(true);
  expect(content).toMatchObject([{ text: expect.stringContaining('title') }]);
});
