import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RpcError } from '../../src/jsonrpc/errors.ts';
import { TestHttp } from '../support/http.ts';
import { aborted, scripted } from '../support/service.ts';

/**
 * The official clients reconnect to every stream that ended without a result that they saw: after an error, or if they
 * cancelled. The server must tell each client to stop, or it reconnects every second until the session ends.
 */

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const info = { name: 'client', version: '1' };

function serving(): { fetch: (url: string | URL, init?: RequestInit) => Promise<Response>; resumed: number[] } {
  const { service } = scripted(
    {
      'tools/call': async (exchange) => {
        await exchange.notify('notifications/message', { level: 'info', data: 'working' });
        if (exchange.params['name'] === 'fail') throw new RpcError(-5, 'failed');
        await aborted(exchange.signal);
        return {};
      },
    },
    { tools: {}, logging: {} },
  );
  const http = new TestHttp(service);
  const resumed: number[] = [];
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    const again = request.headers.has('last-event-id');
    const response = await http.fetch(request);
    if (again) resumed.push(response.status);
    return response;
  };
  return { fetch, resumed };
}

type Fetch = ReturnType<typeof serving>['fetch'];
const address = new URL('http://localhost/mcp');

const clients = {
  'sdk 1.x': async (fetch: Fetch) => {
    const client = new ClientV1(info);
    await client.connect(new HttpV1(address, { fetch }));
    return client;
  },
  'client 2.x': async (fetch: Fetch) => {
    const client = new ClientV2(info);
    await client.connect(new HttpV2(address, { fetch }));
    return client;
  },
};

test.each(Object.entries(clients))(
  '%s reconnects only once after a stream that ended with an error',
  async (_, connect) => {
    const { fetch, resumed } = serving();
    const client = await connect(fetch);
    await expect(client.callTool({ name: 'fail' })).rejects.toThrow('failed');
    await vi.advanceTimersByTimeAsync(120_000);
    expect(resumed.filter((status) => status === 204).length).toBeLessThanOrEqual(1);
    expect(resumed.filter((status) => status !== 204)).toEqual([]);
    await client.close();
  },
);

test.each(Object.entries(clients))(
  '%s reconnects only once after it cancelled the request of a stream',
  async (_, connect) => {
    const { fetch, resumed } = serving();
    const client = await connect(fetch);
    const controller = new AbortController();
    const args = { signal: controller.signal, timeout: 1_000_000 };
    const call =
      client instanceof ClientV1
        ? client.callTool({ name: 'wait' }, undefined, args)
        : client.callTool({ name: 'wait' }, args);
    call.catch(() => {});
    await vi.advanceTimersByTimeAsync(10);
    controller.abort('enough');
    await expect(call).rejects.toThrow('enough');
    await vi.advanceTimersByTimeAsync(120_000);
    expect(resumed.length).toBeLessThanOrEqual(1);
    expect(resumed.every((status) => status === 204)).toBe(true);
    await client.close();
  },
);
