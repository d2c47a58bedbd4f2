import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programs, startServer, type RunningServer } from '../support/process.ts';

/** A client that knows the newest revision, and finds out that the server has a handshake. */
describe('client 2.x in mode auto', () => {
  let server: RunningServer;

  beforeAll(async () => {
    server = await startServer([...programs.everwire, 'demo', '--port', '0']);
  });

  afterAll(() => server?.stop());

  const transports = [
    ['http', () => new StreamableHTTPClientTransport(new URL(server.url))],
    [
      'stdio',
      () =>
        new StdioClientTransport({
          command: process.execPath,
          args: [...programs.everwire, 'demo', '--stdio'],
          stderr: 'ignore',
        }),
    ],
  ] as const;

  test.each(transports)('falls back to the handshake over %s', async (_, transport) => {
    const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(transport());
    expect(client.getProtocolEra()).toBe('legacy');
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
    await client.close();
  });

  test.each(transports)(
    'is told that there is no other when it insists on 2026-07-28 over %s',
    async (_, transport) => {
      const mode = { pin: '2026-07-28' };
      const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
      await expect(client.connect(transport())).rejects.toThrow(/2026-07-28|modern|version|era/i);
      await client.close();
    },
  );
});
