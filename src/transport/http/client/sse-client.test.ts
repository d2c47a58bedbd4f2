import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { event, events, scripted, type Asked } from '../../../../test/support/http-server.ts';
import { certainlyNotExecuted } from '../../../jsonrpc/error-chain.ts';
import { notification, request, resultResponse, type Message } from '../../../jsonrpc/message.ts';
import { AnswerLost, HttpStatusError, SessionGone } from './errors.ts';
import { SseClient, type SseClientOptions } from './sse-client.ts';

function make(url: URL, options?: SseClientOptions) {
  const client = new SseClient(url, options);
  const inbox: Message[] = [];
  const errors: Error[] = [];
  const onclose = vi.fn<() => void>();
  client.onmessage = (message) => void inbox.push(message);
  client.onerror = (error) => void errors.push(error);
  client.onclose = onclose;
  onTestFinished(() => client.close());
  return { client, inbox, errors, onclose };
}

const endpoint = (uri: string) => `event: endpoint\ndata: ${uri}\n\n`;

/** A server that opens its stream and accepts POST requests. The test writes the stream. */
async function opened(onpost?: (asked: Asked, response: ServerResponse) => void, options?: SseClientOptions) {
  let stream!: ServerResponse;
  const server = await scripted((asked, response) => {
    if (asked.method === 'GET') stream = events(response, endpoint('/messages?session=secret-id'));
    else if (onpost) onpost(asked, response);
    else response.writeHead(202).end('Accepted');
  });
  const made = make(server.url, { headers: { 'X-Api-Key': 'key' }, ...options });
  await made.client.start();
  return { ...made, server, stream };
}

test('messages go to the endpoint that the server names, and arrive on the stream', async () => {
  const { client, inbox, errors, server, stream } = await opened();
  await client.send(request(1, 'ping'));
  stream.write(`event: message\n${event({ jsonrpc: '2.0', id: 1, result: {} })}`);
  await vi.waitUntil(() => inbox.length === 1);
  await client.send(notification('notifications/initialized'));
  expect(server.asked.map(({ method, path, body }) => [method, path, body?.method])).toEqual([
    ['GET', '/mcp', undefined],
    ['POST', '/messages?session=secret-id', 'ping'],
    ['POST', '/messages?session=secret-id', 'notifications/initialized'],
  ]);
  expect(server.asked[0]!.headers).toMatchObject({ accept: 'text/event-stream', 'x-api-key': 'key' });
  expect(server.asked[1]!.headers).toMatchObject({ 'content-type': 'application/json', 'x-api-key': 'key' });
  expect(errors).toEqual([]);
});

test('a request whose connection is lost is not sent again, but a response is', async () => {
  const { client, server } = await opened((_asked, response) => void response.socket!.resetAndDestroy());
  await expect(client.send(request(1, 'tools/call'))).rejects.toThrow(AnswerLost);
  expect(server.asked).toHaveLength(2);
  await expect(client.send(resultResponse('q1', {}))).rejects.toThrow(AnswerLost);
  expect(server.asked).toHaveLength(4);
});

test('other messages wait until notifications/initialized was answered, even with an error', async () => {
  for (const status of [202, 500]) {
    let held: ServerResponse | undefined;
    const { client, server } = await opened(({ body }, response) => {
      if (body.method === 'notifications/initialized') held = response;
      else response.writeHead(202).end();
    });
    const first = client.send(notification('notifications/initialized')).catch(() => {});
    const others = [
      client.send(request(1, 'tools/list')),
      client.send(notification('notifications/roots/list_changed')),
      client.send(notification('notifications/cancelled', { requestId: 2 })),
    ];
    await vi.waitUntil(() => held);
    // A request on another connection completes: the other messages would have arrived too.
    await fetch(new URL('/elsewhere', server.url), { method: 'POST', body: '{"method":"other"}' });
    expect(server.asked.map(({ body }) => body?.method)).toEqual([undefined, 'notifications/initialized', 'other']);
    held!.writeHead(status).end();
    await Promise.all([first, ...others]);
    expect(server.asked).toHaveLength(6);
  }
});

test('messages that wait for notifications/initialized fail when the connection closes', async () => {
  const { client } = await opened(() => {});
  const first = client.send(notification('notifications/initialized'));
  const other = client.send(request(1, 'tools/list'));
  await client.close();
  await expect(first).rejects.toThrow('closed');
  await expect(other).rejects.toThrow('closed');
});

test('a malformed request of the server is answered', async () => {
  const { server, stream, errors } = await opened();
  stream.write(event({ jsonrpc: '2.0', id: 's1', method: 'elicitation/create', params: 'str' }));
  await vi.waitUntil(() => server.asked.length === 2);
  expect(server.asked[1]!.body).toMatchObject({ id: 's1', error: { code: -32600 } });
  expect(errors).toHaveLength(1);
});

test('messages before the endpoint are ignored: they could not be answered', async () => {
  const early = Array.from({ length: 3 }, (_, id) => event({ jsonrpc: '2.0', id, method: 'ping' })).join('');
  const late = event({ jsonrpc: '2.0', id: 9, method: 'ping' });
  const server = await scripted((asked, response) => {
    if (asked.method === 'GET') events(response, early + endpoint('/messages') + late);
    else response.writeHead(202).end();
  });
  const { client, inbox, errors } = make(server.url);
  await client.start();
  await vi.waitUntil(() => inbox.length > 0);
  expect([inbox, errors]).toEqual([[request(9, 'ping')], []]);
});

test('an endpoint of another origin is refused', async () => {
  const long = `/${'x'.repeat(65_536)}`;
  for (const uri of [
    'http://other.example/messages',
    '//other.example/messages',
    'file:///etc/passwd',
    'http://',
    long,
  ]) {
    const server = await scripted((_asked, response) => void events(response, endpoint(uri)));
    const { client, onclose } = make(server.url);
    await expect(client.start()).rejects.toThrow(/sent an endpoint (of another origin|that is not a valid URL)/);
    expect(onclose).toHaveBeenCalledTimes(1);
    expect(server.asked).toHaveLength(1);
  }
});

test('a host that is too long is refused, and the error does not repeat it', async () => {
  const server = await scripted((_asked, response) => void events(response, endpoint(`http://${'x'.repeat(60_000)}/`)));
  const error = await make(server.url)
    .client.start()
    .then(String, ({ message }: Error) => message);
  expect(error).toContain('sent an endpoint that is not a valid URL');
  expect(error.length).toBeLessThan(9000);
});

test('start fails without an event stream, or without an endpoint event', async () => {
  const none = await scripted((_asked, response) => void response.writeHead(405).end());
  await expect(make(none.url).client.start()).rejects.toThrow(HttpStatusError);
  const other = await scripted((_asked, response) => void response.end('<html>'));
  await expect(make(other.url).client.start()).rejects.toThrow('the response is not an event stream');
  const ended = await scripted((_asked, response) => void events(response).end());
  await expect(make(ended.url).client.start()).rejects.toThrow('ended its event stream');
  const silent = await scripted((_asked, response) => void events(response));
  await expect(make(silent.url, { openTimeout: 50 }).client.start()).rejects.toThrow(
    'sent no endpoint event within 50 ms',
  );
});

test('the transport closes with its stream, and reports why', async () => {
  const { client, onclose, stream } = await opened();
  stream.end();
  await vi.waitUntil(() => onclose.mock.calls.length === 1);
  expect(client.closeReason?.message).toContain('ended its event stream');
  await expect(client.send(request(1, 'ping'))).rejects.toThrow('ended its event stream');
  const quiet = await opened(undefined, { idleTimeout: 50 });
  await vi.waitUntil(() => quiet.onclose.mock.calls.length === 1);
  expect(quiet.client.closeReason?.message).toContain('The server has sent nothing');
});

test('a session that the server no longer knows ends, and the unsent messages did not run', async () => {
  const { client, onclose } = await opened((_asked, response) => void response.writeHead(404).end());
  const error = await client.send(request(1, 'ping')).catch((thrown: unknown) => thrown);
  expect(certainlyNotExecuted(error)).toBe(true);
  await vi.waitUntil(() => onclose.mock.calls.length === 1);
  expect(client.closeReason).toBeInstanceOf(SessionGone);
});

test('a message that is not accepted fails, without the session id in the error', async () => {
  const { client, onclose } = await opened((_asked, response) => void response.writeHead(500).end());
  const error = (await client.send(request(1, 'ping')).catch((thrown: unknown) => thrown)) as Error;
  expect(error.message).toMatch(/\/messages with status 500$/);
  expect(onclose).not.toHaveBeenCalled();
  const slow = await opened(() => {}, { acceptTimeout: 50 });
  await expect(slow.client.send(request(1, 'ping'))).rejects.toThrow('did not accept a message within 50 ms');
});

test('close ends the stream and messages that are being sent, once', async () => {
  const { client, onclose, stream } = await opened(() => {});
  const gone = new Promise<void>((resolve) => stream.on('close', () => resolve()));
  const sending = client.send(request(1, 'ping')).catch((error: Error) => error.message);
  await client.close();
  await client.close();
  expect(await sending).toBe('The connection was closed');
  await gone;
  expect(onclose).toHaveBeenCalledTimes(1);
  await expect(client.start()).rejects.toThrow('closed');
});
