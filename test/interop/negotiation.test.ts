import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { programs, startServer, type RunningServer } from '../support/process.ts';
import { bridged } from './servers.ts';

const demo = [...programs.everwire, 'demo'];

/** Starts a server. Returns clients over either transport. */
function connections(http: readonly string[], stdio: readonly string[]) {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer(http);
  });
  afterAll(() => server?.stop());

  return [
    ['http', () => new StreamableHTTPClientTransport(new URL(server.url))],
    ['stdio', () => new StdioClientTransport({ command: process.execPath, args: [...stdio], stderr: 'ignore' })],
  ] as const;
}

function clientOf(mode: VersionNegotiationMode): Client {
  const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  return client;
}

describe('client 2.x and a server of all revisions', () => {
  const transports = connections([...demo, '--port', '0'], [...demo, '--stdio']);

  test.each(transports)('use no handshake if the client probes first, over %s', async (_, transport) => {
    const client = clientOf('auto');
    await client.connect(transport());
    expect(client.getProtocolEra()).toBe('modern');
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(client.getServerVersion()).toEqual({ name: 'Demo', version: '1.0.0' });
  });

  test.each(transports)('use no handshake if the client requires 2026-07-28, over %s', async (_, transport) => {
    const client = clientOf({ pin: '2026-07-28' });
    await client.connect(transport());
    expect(client.getDiscoverResult()).toMatchObject({
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      capabilities: { tools: { listChanged: true } },
    });
  });

  test.each(transports)('use a handshake if the client prefers it, over %s', async (_, transport) => {
    const client = clientOf('legacy');
    await client.connect(transport());
    expect(client.getProtocolEra()).toBe('legacy');
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
  });

  test.each(transports)('connect with the result of an earlier server/discover, over %s', async (_, transport) => {
    const first = clientOf('auto');
    await first.connect(transport());
    const discover = first.getDiscoverResult()!;
    const second = clientOf('auto');
    await second.connect(transport(), { prior: { kind: 'modern', discover } });
    const { structuredContent } = await second.callTool({ name: 'add', arguments: { a: 2, b: 4 } });
    expect(structuredContent).toEqual({ result: 6 });
  });
});

describe('client 2.x and a bridge to a server of handshake revisions', () => {
  const { http, stdio } = bridged(programs.everything);
  const transports = connections(http, stdio);

  test.each(transports)('need no handshake over %s', async (_, transport) => {
    for (const mode of ['auto', { pin: '2026-07-28' }] as const) {
      const client = clientOf(mode);
      await client.connect(transport());
      expect(client.getProtocolEra()).toBe('modern');
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    }
  });
});

describe('client 2.x and a server of handshake revisions', () => {
  const [command, ...args] = programs.everything;
  const transport = (): StdioClientTransport =>
    new StdioClientTransport({ command: process.execPath, args: [command, ...args], stderr: 'ignore' });

  test('fall back to the handshake', async () => {
    const client = clientOf('auto');
    await client.connect(transport());
    expect(client.getProtocolEra()).toBe('legacy');
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
  });

  test('fail if the client requires 2026-07-28', async () => {
    await expect(clientOf({ pin: '2026-07-28' }).connect(transport())).rejects.toThrow(
      /2026-07-28|modern|version|era/i,
    );
  });
});
