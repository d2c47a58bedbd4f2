import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testClient } from 'everwire/testing';
import { createServer } from '../src/server.ts';

test('a note can be read after it was added', async () => {
  await using client = await testClient(createServer());

  const { content } = await client.callTool('add_note', { title: 'Milk', text: '2 litres' });
  assert.deepEqual(content, [{ type: 'text', text: 'Added Milk.' }]);

  const { contents } = await client.readResource('notes://all');
  assert.deepEqual(contents, [{ uri: 'notes://all', mimeType: 'text/plain', text: 'Milk: 2 litres' }]);
});

test('subscribers hear of a new note', async () => {
  await using client = await testClient(createServer());
  await client.subscribe('notes://all', () => {});
  await client.callTool('add_note', { title: 'Milk', text: '2 litres' });
  assert.deepEqual(await client.notifications.next('notifications/resources/updated'), { uri: 'notes://all' });
});

test('the prompt names the style', async () => {
  await using client = await testClient(createServer());
  const { messages } = await client.getPrompt('summarize_notes', { style: 'detailed' });
  assert.match(JSON.stringify(messages), /write a detailed summary/);
});
