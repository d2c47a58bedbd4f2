import path from 'node:path';
import { connect } from 'everwire/client';
import { mockServer } from 'everwire/testing';
import { expect, test } from 'vitest';

const recording = path.join(import.meta.dirname, 'add.mcpcap');

test('the client finds the recorded sum', async () => {
  await using mock = await mockServer(recording, { fast: true });
  await using client = await connect(await mock.transport());
  const { structuredContent } = await client.callTool('add', { a: 2, b: 3 });
  expect(structuredContent).toEqual({ result: 5 });
  expect(mock.misses).toEqual([]);
});

test('a call that was not recorded fails', async () => {
  await using mock = await mockServer(recording, { fast: true });
  await using client = await connect(await mock.transport());
  await expect(client.callTool('add', { a: 2, b: 4 })).rejects.toThrow('arguments.b is 4 and not 3');
});
