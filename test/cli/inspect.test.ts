import { describe, expect, test } from 'vitest';
import { demo } from '../support/command-line.ts';
import { startInspector } from '../support/inspector.ts';

const inspect = ['inspect', '--port', '0', '--no-open'];

describe('everwire inspect', () => {
  test('connects to a command at once, and calls a tool', async () => {
    const { page, child } = await startInspector([...inspect, ...demo]);
    const { role, target, choices, connection } = await page.settled();
    expect({ role, target, choices }).toMatchObject({
      role: 'client',
      target: 'cli',
      choices: [{ id: 'command line', name: 'cli', source: 'command line' }],
    });
    expect(connection).toMatchObject({
      status: 'connected',
      revision: '2026-07-28',
      transport: 'stdio',
      discovered: { serverInfo: { name: 'Demo' }, capabilities: { tools: {} } },
      attempts: [{ what: 'server/discover, 2026-07-28', outcome: 'done', record: expect.any(Number) as number }],
    });
    expect(await page.request('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
      result: { content: [{ type: 'text', text: '3' }] },
    });
    child.child.kill('SIGINT');
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });
});
