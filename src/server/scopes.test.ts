import { describe, expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { POST_HEADERS } from '../../test/support/http.ts';
import { meta, MODERN } from '../../test/support/modern.ts';
import { hello } from '../../test/support/wire.ts';
import { derive } from '../core/derive.ts';
import type { AuthInfo } from '../protocol/types.ts';
import { McpServer } from './mcp-server.ts';

function gated(): McpServer {
  const server = new McpServer({ name: 'gated', version: '1', onerror: () => {} });
  server.tool('write', { scopes: ['files:write'] }, () => 'written');
  server.prompt('plan', { scopes: ['plans:read'], arguments: { for: { complete: ['a'] } } }, () => 'a plan');
  server.resource('file:///a', { name: 'a', scopes: ['files:read'] }, () => 'a');
  server.resourceTemplate('file:///b/{name}', { name: 'b', scopes: ['files:read'] }, () => 'b');
  return server;
}

async function ask(method: string, params: Record<string, unknown>, scopes: string[]): Promise<Response> {
  const authInfo: AuthInfo = { principal: 'ada', scopes };
  const name = (params['name'] ?? params['uri']) as string | undefined;
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta() } });
  return gated().fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }), { authInfo });
}

test.each([
  ['tools/call', { name: 'write' }, 'files:write'],
  ['prompts/get', { name: 'plan' }, 'plans:read'],
  ['resources/read', { uri: 'file:///a' }, 'files:read'],
  ['resources/read', { uri: 'file:///b/x' }, 'files:read'],
  ['subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///a'] } }, 'files:read'],
  ['subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///b/x'] } }, 'files:read'],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'plan' }, argument: { name: 'for', value: '' } },
    'plans:read',
  ],
])('%s %j is refused without its scope', async (method, params, scope) => {
  const refused = await ask(method, params, ['other']);
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ id: 1, error: { message: expect.stringContaining(scope) } });
  const granted = await ask(method, params, [scope]);
  expect(granted.status).toBe(200);
  await granted.body?.cancel();
});

test.each(['file:///a', 'file:///b/x'])(
  'a subscription to %s is refused without its scope, by the server itself',
  async (uri) => {
    const { service } = gated();
    const filter = { notifications: { resourceSubscriptions: [uri] } };
    const listen = (...scopes: string[]): TestExchange =>
      new TestExchange('subscriptions/listen', filter, { caller: { auth: { principal: 'ada', scopes } } });
    const refused = listen('other');
    await expect(service(refused)).rejects.toMatchObject({
      code: -32600,
      message: expect.stringContaining('files:read'),
    });
    expect(refused.notified).toEqual([]);
    const subscription = listen('files:read');
    const over = service(subscription);
    expect(subscription.notified).toEqual([{ method: 'notifications/subscriptions/acknowledged', params: filter }]);
    subscription.abort();
    await over;
  },
);

describe('in a session', () => {
  /** A session opened with only the scope `other`, and requests in it with other scopes. */
  async function session(server: McpServer) {
    const post = (message: object, id: string | undefined, scopes: string[]): Promise<Response> => {
      const headers = { ...POST_HEADERS, ...(id !== undefined && { 'mcp-session-id': id }) };
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      const request = new Request('http://localhost/mcp', { method: 'POST', headers, body });
      return server.fetch(request, { authInfo: { principal: 'ada', scopes } });
    };
    const opened = await post({ id: 0, method: 'initialize', params: hello() }, undefined, ['other']);
    const id = opened.headers.get('mcp-session-id')!;
    await opened.text();
    await post({ method: 'notifications/initialized' }, id, ['other']);
    return (method: string, params: object, ...scopes: string[]) => post({ id: 1, method, params }, id, scopes);
  }

  test.each(['file:///a', 'file:///b/x'])(
    'a subscription to %s is checked with the scopes of its own request',
    async (uri) => {
      const request = await session(gated());
      expect((await request('resources/subscribe', { uri }, 'other')).status).toBe(403);
      const granted = await request('resources/subscribe', { uri }, 'files:read');
      expect(await granted.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    },
  );

  test('middleware can read and copy the complete caller', async () => {
    const server = gated().use((next) => (exchange) => next(derive(exchange, { caller: { ...exchange.caller } })));
    server.tool(
      'who',
      {},
      (_, { caller, auth }) => `${caller.clientInfo?.name} ${caller.revision} ${auth?.scopes.join()}`,
    );
    const request = await session(server);
    const answer = await request('tools/call', { name: 'who' }, 'files:write');
    expect(await answer.json()).toMatchObject({ result: { content: [{ text: 'test 2025-11-25 files:write' }] } });
  });
});
