import { testClient } from 'everwire/testing';
import { expect, test } from 'vitest';
import { createServer } from './server.ts';

test('notes are deleted only if the user is sure', async () => {
  await using client = await testClient(createServer(), {
    answers: {
      elicit: ['cancel', { action: 'accept', content: { sure: false } }, { action: 'accept', content: { sure: true } }],
    },
  });
  await client.callTool('add_note', { title: 'Milk', text: '2 litres' });

  const results: unknown[] = [];
  for (let n = 0; n < 3; n++) results.push((await client.callTool('delete_notes')).content[0]);

  expect(results).toMatchObject([
    { text: 'Nothing was deleted.' },
    { text: 'Nothing was deleted.' },
    { text: 'Deleted.' },
  ]);
  expect(client.questions[0]).toMatchObject({ method: 'elicitation/create', params: { message: 'Delete 1 notes?' } });
});

test('a client without forms cannot delete notes', async () => {
  await using client = await testClient(createServer());
  await expect(client.callTool('delete_notes')).rejects.toThrow('elicitation');
});
