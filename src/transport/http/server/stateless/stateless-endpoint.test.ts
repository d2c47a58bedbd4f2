import { describe, expect, test } from 'vitest';
import { Events } from '../../../../../test/support/http.ts';
import { MODERN, meta, ModernHttp, modernHeaders, modernRequest } from '../../../../../test/support/modern.ts';
import { aborted, deferred, scripted } from '../../../../../test/support/service.ts';

const ECHO = modernRequest(1, 'echo', { n: 1 });
const HEADERS = modernHeaders(ECHO);

async function refusal(response: Response): Promise<[status: number, body: any]> {
  return [response.status, await response.json()];
}

describe('a POST without a session', () => {
  test('is answered with plain JSON, and without a session id', async () => {
    const http = new ModernHttp(scripted().service);
    const response = await http.post(ECHO, { ...HEADERS, 'mcp-session-id': 'made-up', 'last-event-id': '1_1' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('mcp-session-id')).toBeNull();
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: 1, result: { params: { n: 1 } } });
  });

  test('of a request without a header is recognised by its body, and the error names the missing header', async () => {
    const http = new ModernHttp(scripted().service);
    const [status, body] = await refusal(await http.post(ECHO, { ...HEADERS, 'mcp-protocol-version': undefined }));
    expect([status, body.id, body.error.code]).toEqual([400, 1, -32020]);
  });

  test.each([
    ['text/plain', 415],
    ['application/jsonx', 415],
    [undefined, 415],
    ['Application/JSON; charset=utf-8', 200],
  ])('with the content type %s gets %i', async (type, status) => {
    const http = new ModernHttp(scripted().service);
    expect((await http.post(ECHO, { ...HEADERS, 'content-type': type })).status).toBe(status);
  });

  test.each([
    ['application/json', 406],
    ['text/event-stream', 406],
    ['text/html', 406],
    ['application/json, text/event-stream;q=0', 406],
    ['*/*', 200],
    ['application/*, text/*', 200],
    [undefined, 200],
  ])('with Accept %s gets %i', async (accept, status) => {
    const { service, seen } = scripted();
    const http = new ModernHttp(service);
    expect((await http.post(ECHO, { ...HEADERS, accept })).status).toBe(status);
    expect(seen).toHaveLength(status === 200 ? 1 : 0);
  });

  test('above the size limit gets 413', async () => {
    const { service, seen } = scripted();
    const http = new ModernHttp(service, {}, { maxBodyBytes: 1000 });
    const response = await http.post(modernRequest(1, 'echo', { filler: 'x'.repeat(1000) }), HEADERS);
    expect(response.status).toBe(413);
    expect(seen).toEqual([]);
  });

  test.each([
    ['not JSON', '{', -32700],
    ['not UTF-8', '"\ud800"', -32600],
    ['a batch', [ECHO], -32600],
    ['an empty batch', [], -32600],
    ['a response with a result', { jsonrpc: '2.0', id: 1, result: {} }, -32000],
    ['a response with an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }, -32000],
    ['another version of JSON-RPC', { ...ECHO, jsonrpc: '1.0' }, -32600],
    ['a null id', { ...ECHO, id: null }, -32600],
    ['not an object', 'null', -32600],
  ])('whose body is %s gets 400', async (_, body, code) => {
    const { service, seen } = scripted();
    const [status, { error }] = await refusal(await new ModernHttp(service).post(body, HEADERS));
    expect([status, error.code]).toEqual([400, code]);
    expect(seen).toEqual([]);
  });

  test('of an unknown revision gets −32022, whatever eras are served', async () => {
    for (const eras of ['both', 'modern'] as const) {
      const http = new ModernHttp(scripted().service, { eras });
      const body = modernRequest(1, 'echo', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } });
      const response = await http.post(body, { ...HEADERS, 'mcp-protocol-version': '2099-01-01' });
      expect(await refusal(response)).toMatchObject([
        400,
        { error: { code: -32022, data: { requested: '2099-01-01' } } },
      ]);
    }
  });

  test('gets an error with the supported revisions if only handshake revisions are served', async () => {
    const { service, seen } = scripted();
    const http = new ModernHttp(service, { eras: 'legacy' });
    const response = await http.post(ECHO, HEADERS);
    expect(response.status).toBe(400);
    expect(seen).toEqual([]);
  });
});

describe('a notification', () => {
  const note = { jsonrpc: '2.0', method: 'notifications/odd', params: { _meta: meta() } } as const;

  test('that is accepted gets 202 without a body', async () => {
    const { service, seen } = scripted({ 'notifications/odd': () => ({}) });
    const response = await new ModernHttp(service).post(note, modernHeaders(note));
    expect([response.status, await response.text()]).toEqual([202, '']);
    expect(seen).toHaveLength(1);
  });

  test.each([
    ['without information about its sender', undefined],
    [
      'of a revision that is not served',
      { _meta: meta({}, { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }) },
    ],
    ['without capabilities', { _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN } }],
  ])('%s gets 400 and does not reach the service', async (_, params) => {
    const { service, seen } = scripted();
    const [status, body] = await refusal(await new ModernHttp(service).post({ ...note, params }, modernHeaders(note)));
    expect([status, 'id' in body, body.error.code]).toEqual([400, false, -32000]);
    expect(seen).toEqual([]);
  });

  test('that only revisions with sessions have gets 202 and does not reach the service', async () => {
    const { service, seen } = scripted();
    const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed', params: {} } as const;
    const response = await new ModernHttp(service).post(changed, modernHeaders(changed));
    expect([response.status, await response.text()]).toEqual([202, '']);
    expect(seen).toEqual([]);
  });

  test('with the name of a request gets 400', async () => {
    const { service, seen } = scripted();
    const call = { ...note, method: 'tools/call' };
    expect((await new ModernHttp(service).post(call, modernHeaders(call))).status).toBe(400);
    expect(seen).toEqual([]);
  });

  test('that fails in the service still gets 202, and the error is reported', async () => {
    const { service } = scripted({ 'notifications/odd': () => Promise.reject(new Error('as it should')) });
    const http = new ModernHttp(service);
    expect((await http.post(note, modernHeaders(note))).status).toBe(202);
    await expect.poll(() => http.errors.map(({ message }) => message)).toEqual(['as it should']);
  });

  test('of a cancellation has no effect: closing the stream cancels', async () => {
    const done = deferred();
    const { service, seen } = scripted({ work: () => done.promise.then(() => ({ done: true })) });
    const http = new ModernHttp(service);
    const answer = http.call('work');
    await expect.poll(() => seen).toHaveLength(1);
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, _meta: meta() },
    } as const;
    expect((await http.post(cancel, modernHeaders(cancel))).status).toBe(202);
    done.resolve();
    expect(await (await answer).json()).toMatchObject({ result: { done: true } });
  });
});

describe('any other method', () => {
  test.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD'])(
    '%s gets 405 if there are no sessions',
    async (method) => {
      const http = new ModernHttp(scripted().service, { eras: 'modern' });
      const headers = { accept: 'text/event-stream', 'mcp-session-id': 'x', 'mcp-protocol-version': MODERN };
      const response = await http.fetch(new Request('http://localhost/mcp', { method, headers }));
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    },
  );
});

describe('the requests in flight are limited', () => {
  test('in number, with subscriptions: further ones get 503 with their id, until one ends', async () => {
    const { service } = scripted({
      'subscriptions/listen': async (exchange) => {
        await exchange.notify('notifications/subscriptions/acknowledged', { notifications: {} });
        await aborted(exchange.signal);
        return {};
      },
    });
    const http = new ModernHttp(service, {}, { maxRequests: 2 });
    const streams = [];
    for (let n = 0; n < 2; n += 1)
      streams.push(new Events(await http.call('subscriptions/listen', { notifications: {} })));
    const response = await http.call('echo');
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await refusal(response)).toEqual([
      503,
      { jsonrpc: '2.0', id: 3, error: expect.objectContaining({ code: -32000 }) },
    ]);
    await streams[0]!.cancel();
    await expect.poll(async () => (await http.call('echo')).status).toBe(200);
  });

  test('in number for one principal, and others still have room', async () => {
    const done = deferred();
    const { service } = scripted({ work: () => done.promise.then(() => ({})) });
    const http = new ModernHttp(service, {}, { maxRequests: 16 });
    const [mallory, ada] = [{ context: { principal: 'mallory' } }, { context: { principal: 'ada' } }];
    const held = Array.from({ length: 14 }, () => http.call('work', {}, mallory));
    await expect.poll(() => http.handler.requests).toBe(14);
    expect((await http.call('echo', {}, mallory)).status).toBe(503);
    expect((await http.call('echo', {}, ada)).status).toBe(200);
    done.resolve();
    for (const response of await Promise.all(held)) expect(response.status).toBe(200);
    expect((await http.call('echo', {}, mallory)).status).toBe(200);
  });

  test('in size: further ones get 503, until one ends', async () => {
    const done = deferred();
    const { service } = scripted({ work: () => done.promise.then(() => ({})) });
    // Requests may use three eighths of the limit.
    const http = new ModernHttp(service, {}, { maxBufferedBytes: 800_000 });
    const sized = (bytes: number) => ({ filler: 'x'.repeat(bytes) });
    const first = http.call('work', sized(200_000));
    const response = await http.call('echo', sized(100_000));
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await refusal(response)).toEqual([
      503,
      {
        jsonrpc: '2.0',
        error: { code: -32000, message: expect.stringContaining('try again later'), data: { notExecuted: true } },
      },
    ]);
    expect((await http.call('echo', sized(90_000))).status).toBe(200);
    done.resolve();
    await (await first).text();
    expect((await http.call('echo', sized(250_000))).status).toBe(200);
  });

  test('in memory, where many empty objects count for more than a text of the same length', async () => {
    const http = new ModernHttp(scripted().service, {}, { maxBufferedBytes: 800_000 });
    expect((await http.call('echo', { list: Array.from({ length: 1000 }, () => ({})) })).status).toBe(200);
    expect((await http.call('echo', { list: Array.from({ length: 5000 }, () => ({})) })).status).toBe(503);
  });

  test('and make room for others whether they succeed or fail', async () => {
    const { service } = scripted({
      fail: () => Promise.reject(new Error('as it should')),
      unwritable: () => ({ big: 1n }),
      streamed: async (exchange) => {
        await exchange.notify('notifications/odd');
        return {};
      },
    });
    const http = new ModernHttp(service, {}, { maxRequests: 1 });
    for (let round = 0; round < 3; round += 1) {
      for (const method of ['fail', 'unwritable', 'streamed', 'unheard/of', 'echo']) {
        const response = await http.call(method);
        expect([method, response.status]).toEqual([method, method === 'unheard/of' ? 404 : 200]);
        await response.text();
      }
      const malformed = modernRequest('x', 'echo', { _meta: { 'io.modelcontextprotocol/protocolVersion': 7 } });
      expect((await http.post(malformed, HEADERS)).status).toBe(400);
    }
  });
});
