import { afterAll, beforeAll, expect, test } from 'vitest';
import { server } from '../../examples/demo.ts';
import type { HttpListener } from '../../src/transport/http/server/listen.ts';

/** The flow of a plain HTTP client. Each text below is sent over the wire as it is. */

const INITIALIZE = `{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "protocolVersion": "2024-11-05",
    "capabilities": { "roots": { "listChanged": true }, "sampling": {} },
    "clientInfo": { "name": "ExampleClient", "version": "1.0.0" }
  }
}`;
const INITIALIZED = '{ "jsonrpc": "2.0", "method": "notifications/initialized" }';
const LIST = '{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }';
const LIST_WITH_CURSOR = `{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/list",
  "params": { "cursor": "optional-cursor-value" }
}`;
const CALL = `{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "tools/call",
  "params": { "_meta": { "progressToken": 2 }, "name": "add", "arguments": { "a": 2, "b": 4 } }
}`;

const INITIALIZE_ANSWER =
  '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05",' +
  '"capabilities":{"logging":{},"tools":{"listChanged":true},"prompts":{"listChanged":true},' +
  '"resources":{"subscribe":true,"listChanged":true}},' +
  '"serverInfo":{"name":"Demo","version":"1.0.0"}}}';
const LIST_ANSWER = {
  jsonrpc: '2.0',
  id: 1,
  result: {
    tools: [
      {
        name: 'add',
        description: 'Add two numbers',
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'integer' }, b: { type: 'integer' } },
          required: ['a', 'b'],
        },
      },
    ],
  },
};
const CURSOR_ANSWER = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid cursor"}}';
const CALL_ANSWER = '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"6"}]}}';

let listener: HttpListener;
beforeAll(async () => {
  listener = await server.listen({ port: 0, grace: 3000 });
});
afterAll(() => listener.close());

function post(url: string, body: string, session?: string | null): Promise<Response> {
  const headers: Record<string, string> = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  if (session) headers['mcp-session-id'] = session;
  return fetch(url, { method: 'POST', headers, body });
}

test('initialize, initialized, tools/list and tools/call work over Streamable HTTP', async () => {
  const opened = await post(listener.url, INITIALIZE);
  expect(opened.status).toBe(200);
  expect(opened.headers.get('content-type')).toBe('application/json');
  expect(await opened.text()).toBe(INITIALIZE_ANSWER);
  const session = opened.headers.get('mcp-session-id');
  expect(session).toMatch(/^[\x21-\x7e]+$/);

  const noted = await post(listener.url, INITIALIZED, session);
  expect(noted.status).toBe(202);
  expect(await noted.text()).toBe('');

  const listed = await post(listener.url, LIST, session);
  expect(listed.status).toBe(200);
  expect(await listed.text()).toBe(JSON.stringify(LIST_ANSWER));

  // A cursor that the server never issued (server/utilities/pagination: Error Handling).
  const misplaced = await post(listener.url, LIST_WITH_CURSOR, session);
  expect(await misplaced.text()).toBe(CURSOR_ANSWER);

  const called = await post(listener.url, CALL, session);
  expect(called.status).toBe(200);
  expect(await called.text()).toBe(CALL_ANSWER);

  const ended = await fetch(listener.url, { method: 'DELETE', headers: { 'mcp-session-id': session! } });
  expect(ended.status).toBe(204);
  expect((await post(listener.url, LIST, session)).status).toBe(404);
});

test('the same messages work over HTTP+SSE: 202 for each message, the responses on the stream', async () => {
  const stream = await fetch(listener.sseUrl!, { headers: { accept: 'text/event-stream' } });
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  const text = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let received = '';
  const event = async (): Promise<string> => {
    while (!received.includes('\n\n')) received += (await text.read()).value;
    const end = received.indexOf('\n\n') + 2;
    const first = received.slice(0, end);
    received = received.slice(end);
    return first;
  };

  const endpoint = await event();
  expect(endpoint).toMatch(/^event: endpoint\ndata: \/messages\?sessionId=[\w-]+\n\n$/);
  const address = new URL(endpoint.slice('event: endpoint\ndata: '.length).trim(), listener.sseUrl).href;
  const send = async (body: string): Promise<void> => {
    const response = await post(address, body);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
  };

  await send(INITIALIZE);
  expect(await event()).toBe(`event: message\ndata: ${INITIALIZE_ANSWER}\n\n`);
  await send(INITIALIZED);
  await send(LIST);
  expect(await event()).toBe(`event: message\ndata: ${JSON.stringify(LIST_ANSWER)}\n\n`);
  await send(LIST_WITH_CURSOR);
  expect(await event()).toBe(`event: message\ndata: ${CURSOR_ANSWER}\n\n`);
  await send(CALL);
  expect(await event()).toBe(`event: message\ndata: ${CALL_ANSWER}\n\n`);
  await text.cancel();
});
