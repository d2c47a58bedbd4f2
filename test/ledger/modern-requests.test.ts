import { describe, expect, test } from 'vitest';
import { RpcError } from '../../src/jsonrpc/errors.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { deferred, scripted } from '../support/service.ts';
import { meta, MODERN } from '../support/modern.ts';
import { served } from '../support/wire.ts';
import { asked, headersOf, modernHttp } from './modern-client.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** A request whose `_meta` lacks a key, or has another value for it. */
function changed(key: string, value: unknown, method = 'echo'): any {
  const request: any = asked(1, method);
  const { _meta: said } = request.params;
  if (value === undefined) delete said[key];
  else said[key] = value;
  return request;
}

describe('the _meta of a request', () => {
  test.each([
    ['no revision', VERSION, undefined],
    ['a revision that is a number', VERSION, 20260728],
    ['no capabilities', CAPABILITIES, undefined],
    ['capabilities that are a list', CAPABILITIES, []],
    ['client info without a version', 'io.modelcontextprotocol/clientInfo', { name: 'a' }],
  ])('with %s gets −32602, over HTTP 400, and does not reach the service', async (_, key, value) => {
    const { service, seen } = scripted();
    const error = { code: -32602, message: expect.any(String) };
    const response = await modernHttp(service).post(changed(key, value));
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error });
    const { client } = await served(service, { eras: 'modern' });
    const { params } = changed(key, value);
    expect(await client.request(1, 'echo', params)).toEqual({ jsonrpc: '2.0', id: 1, error });
    expect(seen).toEqual([]);
  });

  test('is required: without it the request gets −32602', async () => {
    const { post } = modernHttp(scripted().service);
    const bare = { jsonrpc: '2.0', id: 1, method: 'echo' };
    const response = await post(bare);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } });
    const { client } = await served(scripted().service, { eras: 'modern' });
    expect(await client.request(1, 'echo')).toMatchObject({ error: { code: -32602 } });
  });

  test('can be without client info', async () => {
    const { post } = modernHttp(scripted().service);
    const response = await post(changed('io.modelcontextprotocol/clientInfo', undefined));
    expect(await response.json()).toMatchObject({ id: 1, result: {} });
  });

  test('applies only to that request, on one connection or many', async () => {
    const { service, seen } = scripted({ 'tools/call': (exchange) => exchange.ask('roots/list', {}) });
    const { client } = await served(service);
    await client.send(asked(1, 'tools/call', { name: 'a' }, { roots: {} }));
    await expect.poll(() => client.inbox).toMatchObject([{ id: 1, result: { resultType: 'input_required' } }]);
    const refused = await client.request(2, 'tools/call', { name: 'a', _meta: meta() });
    expect(refused.error.code).toBe(-32021);
    await client.request(3, 'echo', { _meta: meta({}, { 'io.modelcontextprotocol/logLevel': 'info' }) });
    await client.request(4, 'echo', { _meta: meta() });
    expect(seen.slice(-2).map(({ caller }) => caller.logLevel)).toEqual(['info', undefined]);
    for (const { caller } of seen) expect(caller.session).toBeUndefined();
  });
});

describe('an unsupported revision', () => {
  test.each(['2099-01-01', '2025-11-25', '__proto__', ''])(
    '%j gets −32022 with the supported revisions',
    async (requested) => {
      const { service, seen } = scripted();
      const supported = [MODERN, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
      const error = { code: -32022, message: expect.any(String), data: { supported, requested } };
      const { client } = await served(service);
      const { params } = changed(VERSION, requested);
      expect(await client.request(1, 'echo', params)).toEqual({ jsonrpc: '2.0', id: 1, error });
      expect(seen).toEqual([]);
    },
  );

  test('gets 400 over HTTP', async () => {
    const { post } = modernHttp(scripted().service);
    const response = await post(changed(VERSION, '2099-01-01'), { 'mcp-protocol-version': '2099-01-01' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32022, data: { requested: '2099-01-01', supported: expect.arrayContaining([MODERN]) } },
    });
  });

  test('in initialize is refused with the revisions, if handshakes are not served', async () => {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'old', version: '1' },
    };
    const error = { code: -32022, message: expect.stringContaining(MODERN), data: expect.anything() };
    const { client } = await served(scripted().service, { eras: 'modern' });
    expect((await client.request(1, 'initialize', params)).error).toEqual(error);
    const { http } = modernHttp(scripted().service, { eras: 'modern' });
    const response = await http.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error });
  });

  test('a server of both eras serves each client in its own, on one connection', async () => {
    const { client } = await served(scripted().service);
    expect(await client.request(1, 'server/discover', { _meta: meta() })).toMatchObject({
      result: { supportedVersions: expect.arrayContaining([MODERN, '2025-11-25']) },
    });
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    expect(await client.request(2, 'initialize', hello)).toMatchObject({ result: { protocolVersion: '2025-06-18' } });
    expect(await client.request(3, 'echo', { n: 1 })).toEqual({ jsonrpc: '2.0', id: 3, result: { params: { n: 1 } } });
    expect(await client.request(4, 'echo', { _meta: meta() })).toMatchObject({ result: { resultType: 'complete' } });
  });
});

describe('headers of a request', () => {
  const server = new McpServer({ name: 'test', version: '1', onerror: () => {} });
  server.tool('größe', {}, () => 'made');
  server.resource('a://1', { name: 'one' }, () => 'read');
  const tool = asked(1, 'tools/call', { name: 'größe' });
  const read = asked(1, 'resources/read', { uri: 'a://1' });
  const encoded = `=?base64?${Buffer.from('größe').toString('base64')}?=`;

  test.each([
    ['the revision is missing', read, { 'mcp-protocol-version': undefined }],
    ['the revision is different', read, { 'mcp-protocol-version': '2025-11-25' }],
    ['the method is missing', read, { 'mcp-method': undefined }],
    ['the method is different', read, { 'mcp-method': 'tools/call' }],
    ['the method is in another case', read, { 'mcp-method': 'Resources/Read' }],
    ['the name is missing', read, { 'mcp-name': undefined }],
    ['the name is different', read, { 'mcp-name': 'a://2' }],
    ['the name is that of another tool', tool, { 'mcp-name': '=?base64?Z3LDtg==?=' }],
    ['the encoding of the name is invalid', tool, { 'mcp-name': '=?base64?@@?=' }],
  ])('cause 400 and −32020 if %s', async (_, body, headers) => {
    const { post } = modernHttp(server.service);
    const response = await post(body, { 'mcp-name': encoded, ...headersFor(body), ...headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
  });

  /** Header values are ASCII. */
  function headersFor(body: any): Record<string, string> {
    return body === tool ? { ...headersOf(body), 'mcp-name': encoded } : headersOf(body);
  }

  test('with an encoded name are decoded first, and header names are case-insensitive', async () => {
    const { http } = modernHttp(server.service);
    const headers = { 'MCP-PROTOCOL-VERSION': MODERN, 'mCP-mETHOD': 'tools/call', 'Mcp-NAME': encoded };
    const response = await http.post(tool, headers);
    expect(await response.json()).toMatchObject({ id: 1, result: { content: [{ text: 'made' }] } });
  });

  test('for arguments must match the arguments, and others are ignored', async () => {
    const routed = new McpServer({ name: 'test', version: '1' });
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    routed.tool('t', { input: { type: 'object', properties: { region } } as const }, () => 'done');
    const { post } = modernHttp(routed.service);
    const body = asked(1, 'tools/call', { name: 't', arguments: { region: 'eu' } });
    for (const headers of [{}, { 'mcp-param-region': 'us' }, { 'mcp-param-region': '=?base64?@@?=' }]) {
      const response = await post(body, headers);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
    }
    for (const value of ['eu', '=?base64?ZXU=?=']) {
      const response = await post(body, { 'MCP-Param-REGION': value, 'mcp-param-other': 'x' });
      expect(await response.json()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } });
    }
  });

  test('for sessions and resumption are ignored', async () => {
    const { http, post } = modernHttp(server.service);
    const response = await post(read, { 'mcp-session-id': 'no-such-session', 'last-event-id': '1-1' });
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBeNull();
    expect(http.handler.sessions).toBe(0);
  });
});

describe('over HTTP', () => {
  test('an unknown method gets 404 and −32601', async () => {
    const { post } = modernHttp(scripted().service);
    for (const method of ['unheard/of', 'ping', 'logging/setLevel', 'resources/subscribe']) {
      const response = await post(asked(1, method));
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ id: 1, error: { code: -32601 } });
    }
  });

  test('an error of a handler gets 200, whatever its code, and a missing capability gets 400', async () => {
    const { post } = modernHttp((exchange) => Promise.reject(new RpcError(exchange.params['code'], 'no')));
    for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete']) {
      for (const code of [-32601, -32602, -32603, -32020, -32022, -7, -32021]) {
        const response = await post(asked(1, method, { code, name: 'a', uri: 'a' }), { 'mcp-name': 'a' });
        expect([code, response.status]).toEqual([code, code === -32021 ? 400 : 200]);
        expect(await response.json()).toMatchObject({ id: 1, error: { code } });
      }
    }
  });

  test('only POST is allowed if no other revision is served', async () => {
    const { http } = modernHttp(scripted().service, { eras: 'modern' });
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await http.send(method, '/mcp', { accept: 'text/event-stream', 'mcp-session-id': 'x' });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    }
  });

  test('a body is one message, so batches and responses are refused', async () => {
    const { http } = modernHttp(scripted().service);
    const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'echo' };
    for (const body of [[asked(1, 'echo')], { jsonrpc: '2.0', id: 1, result: {} }, { jsonrpc: '2.0', id: 1 }, 5]) {
      const response = await http.post(body, headers);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
    }
  });

  test('a notification gets 202 without a body, and a malformed one gets 400', async () => {
    const { service, seen } = scripted({ 'notifications/odd': () => ({}) });
    const { http, post } = modernHttp(service);
    const note = { jsonrpc: '2.0', method: 'notifications/odd', params: { _meta: meta() } };
    const response = await post(note);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
    expect(seen.map(({ method }) => method)).toEqual(['notifications/odd']);
    const headers = { 'mcp-protocol-version': MODERN };
    expect((await http.post({ ...note, params: [] }, headers)).status).toBe(400);
  });

  test('Origin and Host are checked', async () => {
    const { service, seen } = scripted();
    const { post } = modernHttp(service);
    expect((await post(asked(1, 'echo'), { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(asked(1, 'echo'), { host: 'evil.example' })).status).toBe(403);
    expect(seen).toEqual([]);
    expect((await post(asked(1, 'echo'), { origin: 'http://localhost:3000' })).status).toBe(200);
  });
});

describe('results', () => {
  const server = new McpServer({ name: 'test', version: '1', pageSize: 1 });
  server.tool('a', {}, () => 1);
  server.tool('b', {}, () => 2);
  server.prompt('p', { arguments: { x: { complete: ['x'] } } }, () => 'x');
  server.resource('a://1', { name: 'one' }, () => 'x');
  server.resourceTemplate('b://{x}', { name: 'b' }, () => 'x');
  const serverInfo = { name: 'test', version: '1' };

  const completion = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'x', value: '' } };
  test.each([
    ['server/discover', {}],
    ['tools/list', {}],
    ['tools/call', { name: 'a' }],
    ['prompts/list', {}],
    ['prompts/get', { name: 'p' }],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: 'a://1' }],
    ['completion/complete', completion],
  ])('%s is marked complete, with the server’s identity', async (method, params) => {
    const { call } = modernHttp(server.service, { serverInfo });
    const { id, result, error } = await call('x', method, params);
    expect([id, error]).toEqual(['x', undefined]);
    expect(result.resultType).toBe('complete');
    expect(result).toHaveProperty(['_meta', 'io.modelcontextprotocol/serverInfo'], serverInfo);
  });

  test.each([
    ['server/discover', {}],
    ['tools/list', {}],
    ['tools/list', { cursor: undefined }],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: 'a://1' }],
  ])('%s %j has its cache hints', async (method, params) => {
    const { call } = modernHttp(server.service);
    const { result } = await call(1, method, params);
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });

  test('every page of a list has the same cacheScope', async () => {
    const hinted = new McpServer({
      name: 'test',
      version: '1',
      pageSize: 1,
      cache: { tools: { ttlMs: 5000, cacheScope: 'public' } },
    });
    for (const name of ['a', 'b', 'c']) hinted.tool(name, {}, () => 1);
    const { call } = modernHttp(hinted.service);
    const scopes: unknown[] = [];
    let cursor: string | undefined;
    do {
      const { result } = await call(1, 'tools/list', cursor === undefined ? {} : { cursor });
      scopes.push([result.ttlMs, result.cacheScope]);
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    expect(scopes).toEqual([1, 2, 3].map(() => [5000, 'public']));
  });

  test('a negative ttlMs is refused at once', () => {
    expect(() => new McpServer({ name: 't', version: '1', cache: { tools: { ttlMs: -1 } } })).toThrow('ttlMs');
  });

  test('lists are the same for every connection, whatever was called before, and in the same order', async () => {
    const many = new McpServer({ name: 'test', version: '1' });
    for (const name of ['c', 'a', 'b']) many.tool(name, {}, () => 1);
    const names = async (client: Awaited<ReturnType<typeof served>>['client']) => {
      const { result } = await client.request(1, 'tools/list', { _meta: meta() });
      return result.tools.map(({ name }: { name: string }) => name);
    };
    const [one, other] = [await served(many.service), await served(many.service)];
    const first = await names(one.client);
    await one.client.request(2, 'tools/call', { name: 'a', _meta: meta() });
    await one.client.request(3, 'prompts/list', { _meta: meta({ sampling: {} }) });
    expect([await names(one.client), await names(other.client)]).toEqual([first, first]);
    expect(first).toEqual(['c', 'a', 'b']);
  });
});

describe('errors', () => {
  test.each([
    ['tools/call', { name: 'gone' }],
    ['prompts/get', { name: 'gone' }],
    ['prompts/get', { name: 'p' }],
    ['resources/read', { uri: 'a://gone' }],
    ['resources/read', { uri: 7 }],
    ['tools/list', { cursor: 'nonsense' }],
    ['completion/complete', {}],
  ])('%s %j gets −32602 with the id of the request', async (method, params) => {
    const server = new McpServer({ name: 'test', version: '1' });
    server.tool('a', {}, () => 1);
    server.prompt('p', { arguments: { x: { required: true, complete: ['x'] } } }, () => 'x');
    server.resource('a://1', { name: 'one' }, () => 'x');
    const { call } = modernHttp(server.service);
    expect(await call('x', method, params)).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      error: expect.objectContaining({ code: -32602, message: expect.any(String) }),
    });
  });

  test('an internal error of a handler gets −32603', async () => {
    const server = new McpServer({ name: 'test', version: '1', onerror: () => {} });
    const broken = () => {
      throw new Error('the disk is full');
    };
    server.prompt('p', { arguments: { x: { complete: broken } } }, broken);
    server.resource('a://1', { name: 'one' }, broken);
    const { call } = modernHttp(server.service);
    const completion = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'x', value: '' } };
    const error = (method: string) => ({ code: -32603, message: `${method} failed with an internal error` });
    expect((await call(1, 'prompts/get', { name: 'p' })).error).toEqual(error('prompts/get'));
    expect((await call(1, 'resources/read', { uri: 'a://1' })).error).toEqual(error('resources/read'));
    expect((await call(1, 'completion/complete', completion)).error).toEqual(error('completion/complete'));
  });

  test.each([
    [-32002, 'resource not found', -32602],
    [-32042, 'go there first', -32603],
  ])('the code %i of an older revision is not sent', async (code, message, instead) => {
    const { service } = scripted({ 'resources/read': () => Promise.reject(new RpcError(code, message)) });
    const { call } = modernHttp(service);
    expect((await call(1, 'resources/read', { uri: 'a' })).error).toEqual({ code: instead, message });
  });

  test('an id in flight on the same connection is refused without it, and the first request is answered', async () => {
    const go = deferred();
    const { service } = scripted({ work: () => go.promise.then(() => ({ first: true })) });
    const { client } = await served(service);
    await client.send(asked(1, 'work'), asked(1, 'echo'));
    const refusal = client.next();
    expect(refusal.error.code).toBe(-32600);
    expect('id' in refusal).toBe(false);
    go.resolve();
    await expect.poll(() => client.inbox).toMatchObject([{ id: 1, result: { first: true } }]);
  });

  test('a notification gets no response, even if it fails', async () => {
    const { service } = scripted({
      'notifications/odd': () => {
        throw new Error('cannot take it');
      },
    });
    const { client, errors } = await served(service);
    const said = { _meta: meta() };
    await client.send(
      { method: 'notifications/odd', params: said },
      { method: 'notifications/unheard/of', params: said },
      { method: 'notifications/cancelled', params: { requestId: 99, ...said } },
      { method: 'notifications/cancelled', params: { requestId: 99 } },
      { method: 'notifications/cancelled', params: { requestId: {}, ...said } },
      { method: 'tools/list', params: said },
    );
    expect(client.take()).toEqual([]);
    expect(errors.map(({ message }) => message)).toContain('cannot take it');
  });
});
