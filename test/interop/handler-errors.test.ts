import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBridge } from '../../src/bridge/bridge.ts';
import { ErrorCode, RpcError } from '../../src/jsonrpc/errors.ts';
import { McpErrorCode } from '../../src/protocol/errors.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { listen } from '../../src/transport/http/server/listen.ts';
import { createInbound } from '../../src/wire/serve.ts';
import { MODERN, modernRequest } from '../support/modern.ts';

/** The errors of handlers, as the official client of 2026-07-28 gets them over HTTP. */

const CODES = [
  ErrorCode.MethodNotFound,
  McpErrorCode.HeaderMismatch,
  McpErrorCode.UnsupportedProtocolVersion,
  ErrorCode.InternalError,
  -7,
];

function throwing(eras: 'legacy' | 'modern' = 'modern'): McpServer {
  const server = new McpServer({ name: 'throws', version: '1', eras, onerror: () => {} });
  const fail = (code: number): never => {
    throw new RpcError(code, `code ${code}`, { data: { code } });
  };
  const input = { type: 'object', properties: { code: { type: 'integer' } } } as const;
  server.tool('throw', { input }, (args) => fail(args['code'] as number));
  server.prompt('throw', { arguments: { code: { required: true } } }, ({ code }) => fail(Number(code)));
  server.resourceTemplate('throw://{code}', { name: 'throw' }, ({ code }) => fail(Number(code)));
  server.tool('break', {}, () => Promise.reject(new Error('no disk at 10.0.0.7')));
  server.prompt('break', {}, () => Promise.reject(new Error('no disk at 10.0.0.7')));
  onTestFinished(() => server.close());
  return server;
}

/** The server itself, and a bridge to it in either era. */
const WAYS: readonly (readonly [string, () => Promise<string>])[] = [
  ['a server', async () => (await throwing().listen({ port: 0 })).url],
  ['a bridge to a 2026-07-28 server', () => bridged('modern')],
  ['a bridge to a handshake server', () => bridged('legacy')],
];

async function bridged(eras: 'legacy' | 'modern'): Promise<string> {
  const { url: target } = await throwing(eras).listen({ port: 0 });
  const bridge = createBridge({ target });
  const { onsession, onrequest, close } = boundInbound(bridge.service);
  const listener = await listen({ port: 0, onsession, onrequest });
  onTestFinished(async () => {
    await listener.close();
    await close();
    await bridge.close();
  });
  return listener.url;
}

function boundInbound(...options: Parameters<typeof createInbound>) {
  const inbound = createInbound(...options);
  return { onsession: inbound.onsession, onrequest: inbound.onrequest, close: () => inbound.close(0) };
}

describe.each(WAYS)('the official client of %s', (_name, start) => {
  test('gets the code, message and data of an error that a handler throws', async () => {
    const statuses: number[] = [];
    const fetchNoted: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      statuses.push(response.status);
      return response;
    };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(await start()), { fetch: fetchNoted }));
    onTestFinished(() => client.close());
    for (const code of CODES) {
      for (const request of [
        () => client.callTool({ name: 'throw', arguments: { code } }),
        () => client.getPrompt({ name: 'throw', arguments: { code: String(code) } }),
        () => client.readResource({ uri: `throw://${code}` }),
      ]) {
        statuses.length = 0;
        const error: unknown = await request().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ProtocolError);
        expect(error).toMatchObject({ message: expect.stringContaining(`code ${code}`), data: { code } });
        expect(statuses.at(-1)).toBe(200);
      }
    }
  });

  test('does not get internal error messages', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(await start())));
    onTestFinished(() => client.close());
    const text = 'Tool break failed with an internal error';
    expect(await client.callTool({ name: 'break' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text }],
    });
    await expect(client.getPrompt({ name: 'break' })).rejects.toMatchObject({
      code: ErrorCode.InternalError,
      message: expect.stringMatching(/prompts\/get failed with an internal error$/),
    });
  });

  test('gets status 404 for an unknown method', async () => {
    const url = await start();
    for (const method of ['unheard/of', 'tasks/get']) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': MODERN,
          'mcp-method': method,
          ...(method === 'tasks/get' ? { 'mcp-name': 'none' } : {}),
        },
        body: JSON.stringify(modernRequest(1, method, method === 'tasks/get' ? { taskId: 'none' } : {})),
      });
      expect([method, response.status]).toEqual([method, 404]);
      expect(await response.json()).toMatchObject({ id: 1, error: { code: ErrorCode.MethodNotFound } });
    }
  });
});
