import { testClient } from 'everwire/testing';
import { describe, expect, test } from 'vitest';
import { createServer } from './server.ts';

describe.each(['2025-11-25', '2026-07-28'] as const)('in %s', (revision) => {
  test('the tools are listed', async () => {
    await using client = await testClient(createServer(), { revision });
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['add_note', 'delete_notes']);
  });
});
