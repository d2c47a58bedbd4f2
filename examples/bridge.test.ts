import { connect } from 'everwire/client';
import { McpServer } from 'everwire/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { filesShownIn } from '../test/support/shown.ts';
import { bridgeTo } from './bridge.ts';

describe('the page about bridges', () => {
  const files = filesShownIn('docs/bridge.md');

  test('shows the files of the example', () => {
    expect(files.map(({ file }) => file)).toEqual(['examples/bridge.ts']);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

test.each(['2026-07-28', '2025-06-18'] as const)('the example passes questions to a client of %s', async (revision) => {
  const server = new McpServer({ name: 'shop', version: '1', eras: 'legacy' });
  server.tool('buy', {}, async (_, ctx) => {
    const answer = await ctx.elicit({ message: 'How many?', schema: z.object({ count: z.number() }) });
    return answer.action === 'accept' ? `${answer.content.count} bought` : 'nothing bought';
  });
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  const bridge = await bridgeTo(listener.url, 0);
  onTestFinished(() => bridge.close());
  const client = await connect(bridge.url, {
    revision,
    onelicit: async () => ({ action: 'accept', content: { count: 3 } }),
  });
  onTestFinished(() => client.close());
  expect((await client.callTool('buy')).content).toEqual([{ type: 'text', text: '3 bought' }]);
});
