import { expect, test } from 'vitest';
import type { Request } from '../../src/jsonrpc/message.ts';
import { initialize, POST_HEADERS } from '../support/http.ts';
import { modernHeaders, modernRequest } from '../support/modern.ts';
import { startServer } from '../support/process.ts';

const CALLS = 1500;

/**
 * V8 creates some objects in the old generation at once, for example a function that is assigned to a property. All that
 * they name then stays until a full collection. Without optimization, V8 always does this.
 */
test.each(['2025-11-25', '2026-07-28'])('answered calls of %s do not outlive minor collections', async (revision) => {
  const server = await startServer(['--expose-gc', '--no-opt', 'test/fixtures/minor-collections.mjs']);
  try {
    const post = (message: object, headers: Record<string, string>): Promise<Response> =>
      fetch(server.url, { method: 'POST', headers, body: JSON.stringify(message) });
    const opened = revision === '2025-11-25' ? await post(initialize(revision), POST_HEADERS) : undefined;
    await opened?.text();
    const session = { ...POST_HEADERS, 'mcp-session-id': opened?.headers.get('mcp-session-id') ?? '' };
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    const call = async (id: number): Promise<void> => {
      const params = { name: 'add', arguments: {} };
      const message: Request = opened
        ? { jsonrpc: '2.0', id, method: 'tools/call', params }
        : modernRequest(id, 'tools/call', params);
      const response = await post(message, opened ? session : modernHeaders(message));
      expect(await response.json()).toMatchObject({ id, result: { content: [{ text: '3' }] } });
    };
    const calls = async (first: number, count: number): Promise<void> => {
      const next = Array.from({ length: count }, (_, index) => first + index).values();
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (const id of next) await call(id);
        }),
      );
    };
    const memory = async (): Promise<number> => Number(await (await fetch(new URL('/memory', server.url))).text());
    await calls(1, 500);
    const before = await memory();
    await calls(1000, CALLS);
    expect(((await memory()) - before) / CALLS).toBeLessThan(500);
  } finally {
    await server.stop();
  }
});
