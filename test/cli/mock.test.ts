import path from 'node:path';
import { expect, test } from 'vitest';
import { demo, runEverwire, temporaryFolder } from '../support/command-line.ts';

test('a mock answers each request that is not in its recording, and prints why 20 times at most', async () => {
  const file = path.join(temporaryFolder(), 'session.mcpcap');
  await runEverwire(['call', 'add', 'a=2', 'b=3', '--revision', '2025-11-25', '--record', file, ...demo]);
  const clientInfo = { name: 'client', version: '1.0.0' };
  const messages = [
    { id: 'first', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    ...Array.from({ length: 100 }, (_, id) => {
      return { id, method: 'tools/call', params: { name: 'add', arguments: { a: id, b: 0 } } };
    }),
  ];
  const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  const { stdout, stderr } = await runEverwire(['mock', '--stdio', '--fast', file], stdin);
  expect(stdout.split('\n').filter((line) => line.includes('"error"'))).toHaveLength(100);
  expect(stderr.split('\n').filter((line) => line.startsWith('everwire: '))).toHaveLength(20);
});
