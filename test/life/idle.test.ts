import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createInbound } from 'everwire';
import { createBridge, type BridgeOptions } from 'everwire/bridge';
import { createHttpHandler, fetchListener } from 'everwire/http';
import { memoryTransportPair } from 'everwire/memory';
import type { Target } from '../interop/clients.ts';
import { connect, KINDS } from './clients.ts';

/** A server's state for a client is still there when the client comes back, after any idle time. */

const HOUR = 3_600_000;

// It is loaded on first use, which takes a while.
beforeAll(() => import('../../src/wire/negotiate.ts'));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server of the official SDK 1.x that counts its calls. */
function counting(): McpServer {
  const server = new McpServer({ name: 'counting', version: '1.0.0' });
  let calls = 0;
  server.registerTool('count', {}, () => ({ content: [{ type: 'text', text: String((calls += 1)) }] }));
  return server;
}

/** A bridge to such servers. */
function bridged(connections: BridgeOptions['connections']): { target: Target; servers: () => number } {
  let servers = 0;
  const bridge = createBridge({
    connections,
    target: () => {
      servers += 1;
      const [near, far] = memoryTransportPair();
      void counting().connect(far);
      return near;
    },
  });
  const inbound = createInbound(bridge.service, { sealState: false });
  const { onsession, onrequest } = inbound;
  const handler = createHttpHandler({ onsession, onrequest });
  onTestFinished(async () => {
    await inbound.close();
    await handler.close();
    await bridge.close();
  });
  const memory = async (): Promise<any> => {
    const [near, far] = memoryTransportPair();
    await inbound.connect(far);
    return near;
  };
  const address = { url: 'http://localhost/mcp', sseUrl: 'http://localhost/sse', fetch: fetchListener(handler) };
  return { target: { stdio: [], ...address, memory }, servers: () => servers };
}

describe.each([
  ['a connection, as over stdio', 'memory'],
  ['HTTP', 'http'],
] as const)('over %s', (_, way) => {
  describe.each(['per-session', 'shared', 2] as const)('with connections: %s', (connections) => {
    test.each(KINDS)('a server continues to count after a day without a call (%s)', async (kind) => {
      const { target, servers } = bridged(connections);
      const client = await connect(kind, way, target);
      expect(await client.call('count')).toBe('1');
      await vi.advanceTimersByTimeAsync(24 * HOUR);
      const counts = await Promise.all([client.call('count'), client.call('count'), client.call('count')]);
      expect(counts.toSorted()).toEqual(['2', '3', '4']);
      expect(servers()).toBe(1);
    });
  });
});
