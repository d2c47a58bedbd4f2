import { testClient } from 'everwire/testing';
import { expect, test } from 'vitest';
import { createServer } from './server.ts';

const note = { title: 'Milk', text: '2 litres' };

test('the log says who added a note', async () => {
  await using client = await testClient(createServer(), { principal: 'ada', scopes: ['notes:write'] });
  await client.callTool('add_note', note);
  const { level, data } = await client.notifications.next('notifications/message');
  expect([level, data]).toEqual(['debug', 'ada added Milk']);
});

test('deleting notes reports its progress', async () => {
  await using client = await testClient(createServer(), {
    answers: { elicit: { action: 'accept', content: { sure: true } } },
  });
  for (const title of ['Milk', 'Bread']) await client.callTool('add_note', { title, text: '' });
  await client.callTool('delete_notes');
  expect(client.notifications.of('notifications/progress')).toEqual([
    { progress: 1, total: 2, message: 'Milk' },
    { progress: 2, total: 2, message: 'Bread' },
  ]);
});

test('subscribers hear of a new note', async () => {
  await using client = await testClient(createServer());
  await client.subscribe('notes://all', () => {});
  await client.callTool('add_note', note);
  expect(await client.notifications.next('notifications/resources/updated')).toEqual({ uri: 'notes://all' });
});
