import { expect, test, vi } from 'vitest';
import { announce } from './run.ts';

test('the URLs that a bridge prints, for itself and each of its servers, work in a client', () => {
  const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const listener = { url: 'http://127.0.0.1:8080/mcp', sseUrl: undefined };
    announce('all', listener as unknown as Parameters<typeof announce>[1], true);
    expect(printed.mock.calls.map(([text]) => text).slice(0, 2)).toEqual([
      'everwire: listening on http://127.0.0.1:8080/mcp\n',
      'everwire: each server separately on http://127.0.0.1:8080/servers/<name>/mcp\n',
    ]);
  } finally {
    printed.mockRestore();
  }
});
