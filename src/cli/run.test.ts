import { expect, test, vi } from 'vitest';
import { announce } from './run.ts';

test('where a server is, and each of many by itself, is told in addresses that work', () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const listener = { url: 'http://127.0.0.1:8080/mcp', sseUrl: undefined };
    announce('all', listener as unknown as Parameters<typeof announce>[1], true);
    expect(said.mock.calls.map(([text]) => text).slice(0, 2)).toEqual([
      'everwire: listening on http://127.0.0.1:8080/mcp\n',
      'everwire: each server by itself on http://127.0.0.1:8080/servers/<name>/mcp\n',
    ]);
  } finally {
    said.mockRestore();
  }
});
