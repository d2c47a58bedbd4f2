import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { closedPort, event, events, json, scripted, type Asked } from '../../../../test/support/http-server.ts';
import { hello } from '../../../../test/support/wire.ts';
import { certainlyNotExecuted } from '../../../jsonrpc/error-chain.ts';
import { notification, request, resultResponse, type Message } from '../../../jsonrpc/message.ts';
import { AnswerLost, HttpStatusError, SessionGone } from './errors.ts';
import { NotSent } from './http.ts';
import { StreamableClient, type StreamableClientOptions } from './streamable-client.ts';

interface Opened {
  readonly client: StreamableClient;
  readonly inbox: Message[];
  readonly errors: Error[];
  readonly closed: { times: number };
  /** The response to a request, when it has arrived. */
  answer(id: number): Promise<any>;
}

async function open(url: URL, options: StreamableClientOptions = {}): Promise<Opened> {
  const client = new StreamableClient(url, options);
  const inbox: Message[] = [];
  const errors: Error[] = [];
  const closed = { times: 0 };
  client.onmessage = (message) => void inbox.push(message);
  client.onerror = (error) => void errors.push(error);
  client.onclose = () => void (closed.times += 1);
  await client.start();
  onTestFinished(() => client.close());
  const answer = (id: number): Promise<any> =>
    vi.waitUntil(() => inbox.find((message) => !('method' in message) && message.id === id), {
      timeout: 5000,
      interval: 5,
    });
  return { client, inbox, errors, closed, answer };
}

const SESSION = { 'mcp-session-id': 'the-session' };
const quick = { reconnection: { maxTime: 2000, maxAttempts: 4 } };
const answerTo = ({ body }: Asked, result: object = {}) => ({ jsonrpc: '2.0', id: body.id, result });

/** A server that opens a session without a GET stream. The test answers other requests. */
function serving(rest: (asked: Asked, response: ServerResponse) => void) {
  return scripted((asked, response) => {
    if (asked.body?.method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
      return json(response, answerTo(asked, result), 200, SESSION);
    }
    const elsewhere = asked.method === 'GET' && asked.headers['last-event-id'] === undefined;
    if (asked.method === 'DELETE' || elsewhere) return void response.writeHead(405).end();
    if (asked.body?.method === 'notifications/initialized') return void response.writeHead(202).end();
    rest(asked, response);
  });
}

/** A server that accepts `notifications/initialized` when the test says so. */
async function holdingInitialized() {
  const held: { accept?: () => void } = {};
  const server = await scripted((asked, response) => {
    if (asked.method === 'GET') response.writeHead(405).end();
    else if (asked.body.method === 'notifications/initialized') held.accept = () => void response.writeHead(202).end();
    else json(response, answerTo(asked));
  });
  return { server, held };
}

async function handshake({ client }: Opened): Promise<void> {
  await client.send(request(0, 'initialize', hello()));
  client.setProtocolVersion('2025-11-25');
  await client.send(notification('notifications/initialized'));
}

const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error as any,
  );

describe('a session', () => {
  test('is named in each later request, and so is the revision', async () => {
    const server = await serving((asked, response) => json(response, answerTo(asked)));
    const opened = await open(server.url, { headers: { 'X-Api-Key': 'key' } });
    await handshake(opened);
    await opened.client.send(request(1, 'ping'));
    expect(opened.client.sessionId).toBe('the-session');
    await opened.client.close();
    await vi.waitUntil(() => server.asked.some(({ method }) => method === 'GET'));
    const [first, ...others] = server.asked;
    expect(first!.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'x-api-key': 'key',
    });
    expect(first!.headers).not.toHaveProperty('mcp-session-id');
    expect(first!.headers).not.toHaveProperty('mcp-protocol-version');
    for (const { headers } of others) {
      expect(headers).toMatchObject({ ...SESSION, 'mcp-protocol-version': '2025-11-25', 'x-api-key': 'key' });
    }
    const methods: string[] = others.map(({ method, body }) => body?.method ?? method);
    expect(methods.toSorted()).toEqual(['DELETE', 'GET', 'notifications/initialized', 'ping']);
    expect(opened.errors).toEqual([]);
    expect(opened.closed.times).toBe(1);
  });

  test('has no revision header if its revision has none', async () => {
    const server = await serving((asked, response) => json(response, answerTo(asked)));
    const { client } = await open(server.url);
    client.setProtocolVersion('2025-03-26');
    await client.send(request(1, 'ping'));
    expect(server.asked[0]!.headers).not.toHaveProperty('mcp-protocol-version');
  });

  test('ends if the server no longer knows it, and the request did not run', async () => {
    const server = await serving((asked, response) => {
      if (asked.body.params?.stream) events(response, ': begun\n\n');
      else
        setTimeout(() => json(response, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'no' } }, 404), 20);
    });
    const opened = await open(server.url);
    await handshake(opened);
    await opened.client.send(request(1, 'tools/call', { stream: true }));
    const refused = [2, 3].map((id) => thrownBy(opened.client.send(request(id, 'tools/call'))));
    for (const error of await Promise.all(refused)) {
      expect(error).toBeInstanceOf(SessionGone);
      expect(certainlyNotExecuted(error)).toBe(true);
    }
    await vi.waitUntil(() => opened.closed.times === 1);
    expect(opened.client.closeReason).toBeInstanceOf(SessionGone);
    expect(certainlyNotExecuted(opened.client.closeReason)).toBe(false);
    expect(certainlyNotExecuted(await thrownBy(opened.client.send(request(4, 'ping'))))).toBe(true);
    expect(server.asked.some(({ method }) => method === 'DELETE')).toBe(false);
  });

  test('ends without a login, even if DELETE gets 401', async () => {
    const server = await scripted((asked, response) => {
      if (asked.body?.method !== 'initialize') return void response.writeHead(401).end();
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
      return json(response, answerTo(asked, result), 200, SESSION);
    });
    const refused = vi.fn<() => Promise<boolean>>(() => Promise.resolve(true));
    const { client } = await open(server.url, { authorizer: { headers: () => Promise.resolve({}), refused } });
    await client.send(request(0, 'initialize', hello()));
    await client.close();
    expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
    expect(refused).not.toHaveBeenCalled();
  });

  test('continues if the server answers GET with 404, and ends if the next POST gets 404', async () => {
    let gone = false;
    const server = await scripted((asked, response) => {
      if (asked.method === 'GET' || gone) response.writeHead(404).end();
      else if (asked.body.method === 'notifications/initialized') response.writeHead(202).end();
      else json(response, answerTo(asked), 200, SESSION);
    });
    const opened = await open(server.url);
    await handshake(opened);
    await vi.waitUntil(() => server.asked.some(({ method }) => method === 'GET'));
    await opened.client.send(request(1, 'ping'));
    expect(await opened.answer(1)).toHaveProperty('result');
    expect(opened.errors).toEqual([]);
    expect(opened.closed.times).toBe(0);
    gone = true;
    expect(await thrownBy(opened.client.send(request(2, 'ping')))).toBeInstanceOf(SessionGone);
  });

  test.each([
    [204, undefined],
    [200, 'text/html'],
    [200, 'application/json'],
    [202, undefined],
    [405, undefined],
  ])('continues without a stream if GET is answered with %d and the type %s', async (status, type) => {
    const server = await scripted((asked, response) => {
      if (asked.method === 'GET') response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end();
      else if (asked.body?.method === 'notifications/initialized') response.writeHead(202).end();
      else if (asked.method === 'POST') json(response, answerTo(asked), 200, SESSION);
      else response.writeHead(200).end();
    });
    const opened = await open(server.url);
    await handshake(opened);
    await vi.waitUntil(() => server.asked.some(({ method }) => method === 'GET'));
    await opened.client.send(request(1, 'ping'));
    expect(await opened.answer(1)).toHaveProperty('result');
    expect(opened.errors).toEqual([]);
    expect(server.asked.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  test.each([404, 405])('ends if a GET for its existing stream is answered with %d', async (status) => {
    let streams = 0;
    const server = await scripted((asked, response) => {
      if (asked.method === 'GET') {
        streams += 1;
        if (streams === 1) events(response, 'retry: 1\ndata: \n\n').end();
        else response.writeHead(status).end();
      } else if (asked.body.method === 'notifications/initialized') response.writeHead(202).end();
      else json(response, answerTo(asked), 200, SESSION);
    });
    const opened = await open(server.url);
    await handshake(opened);
    await vi.waitUntil(() => opened.closed.times === 1);
    expect(opened.client.closeReason).toBeInstanceOf(SessionGone);
  });

  test('may be unknown with 400, as in the example of the official SDK', async () => {
    const error = { code: -32000, message: 'Bad Request: No valid session ID provided' };
    const server = await serving((_asked, response) => json(response, { jsonrpc: '2.0', id: null, error }, 400));
    const opened = await open(server.url);
    await handshake(opened);
    expect(await thrownBy(opened.client.send(request(1, 'ping')))).toBeInstanceOf(SessionGone);
  });

  test('is initialized before anything else is sent', async () => {
    const { server, held } = await holdingInitialized();
    const opened = await open(server.url);
    const sent = [
      opened.client.send(notification('notifications/initialized')),
      opened.client.send(request(1, 'ping')),
    ];
    const accept = await vi.waitUntil(() => held.accept);
    expect(server.asked).toHaveLength(1);
    accept();
    await Promise.all(sent);
    expect(server.asked.map(({ body }) => body?.method)).toContain('ping');
  });

  test('a request that is cancelled before the server has accepted the session is never sent', async () => {
    const { server, held } = await holdingInitialized();
    const opened = await open(server.url);
    const sent = [
      opened.client.send(notification('notifications/initialized')),
      opened.client.send(request(1, 'tools/call')),
      opened.client.send(request(2, 'tools/call')),
      opened.client.send(notification('notifications/cancelled', { requestId: 1 })),
    ];
    (await vi.waitUntil(() => held.accept))();
    await Promise.all(sent);
    await opened.answer(2);
    const posted = server.asked.filter(({ method }) => method === 'POST').map(({ body }) => [body.method, body.id]);
    expect(posted).toEqual([
      ['notifications/initialized', undefined],
      ['tools/call', 2],
    ]);
  });

  test('a request that is cancelled while the server delays it is not sent again', async () => {
    let cancellations = 0;
    const server = await serving(({ body }, response) => {
      if (body.method === 'notifications/cancelled' && (cancellations += 1) > 1) response.writeHead(202).end();
      else response.writeHead(503, { 'retry-after': '1' }).end();
    });
    const opened = await open(server.url);
    await handshake(opened);
    const call = opened.client.send(request(1, 'tools/call'));
    await vi.waitUntil(() => server.asked.some(({ body }) => body?.method === 'tools/call'));
    await opened.client.send(notification('notifications/cancelled', { requestId: 1 }));
    await call;
    expect(server.asked.filter(({ body }) => body?.method === 'tools/call')).toHaveLength(1);
    expect(cancellations).toBe(2);
  });

  test('has its own GET stream, which is resumed after the last event', async () => {
    let streams = 0;
    const server = await scripted((asked, response) => {
      if (asked.method !== 'GET') {
        response.writeHead(202).end();
        return;
      }
      streams += 1;
      const change = event(notification('notifications/tools/list_changed', { streams }), `e${streams}`);
      events(response, 'retry: 10\n\n', change);
      if (streams < 3) response.end();
    });
    const opened = await open(server.url);
    await opened.client.send(notification('notifications/initialized'));
    await vi.waitUntil(() => opened.inbox.length === 3);
    const places = server.asked.filter(({ method }) => method === 'GET').map(({ headers }) => headers['last-event-id']);
    expect(places).toEqual([undefined, 'e1', 'e2']);
    expect(opened.errors).toEqual([]);
  });
});

describe('a request', () => {
  test('is answered as JSON, on an event stream, or in a batch', async () => {
    const server = await serving((asked, response) => {
      const logMessage = notification('notifications/message', { level: 'info', data: 1 });
      if (asked.body.id === 1) json(response, answerTo(asked));
      else if (asked.body.id === 2) events(response, event(logMessage), event(answerTo(asked))).end();
      else json(response, [logMessage, answerTo(asked)]);
    });
    const opened = await open(server.url);
    opened.client.setProtocolVersion('2025-03-26');
    for (const id of [1, 2, 3]) {
      await opened.client.send(request(id, 'tools/call'));
      await opened.answer(id);
    }
    expect(opened.inbox.map((message) => ('method' in message ? message.method : message.id))).toEqual([
      1,
      'notifications/message',
      2,
      'notifications/message',
      3,
    ]);
    expect(opened.errors).toEqual([]);
  });

  test('is not answered by a batch in revisions without batches', async () => {
    const server = await serving((asked, response) => json(response, [answerTo(asked)]));
    const opened = await open(server.url);
    opened.client.setProtocolVersion('2025-06-18');
    await expect(opened.client.send(request(1, 'ping'))).rejects.toThrow(AnswerLost);
    expect(opened.errors[0]!.message).toContain('batches exist only in revision 2025-03-26');
  });

  test('fails at once if its stream ends without a response', async () => {
    const server = await serving((_asked, response) => void events(response, ': nothing\n\n').end());
    const opened = await open(server.url);
    await opened.client.send(request(1, 'tools/call'));
    const { error } = await opened.answer(1);
    expect(error).toEqual({
      code: -32000,
      message: 'The answer to tools/call was lost: the stream ended without the response',
    });
  });

  test('is resumed at the time that the server gives, over several connections, if its stream had an event id', async () => {
    const times: number[] = [];
    const server = await serving((_asked, response) => {
      times.push(performance.now());
      const progressEvent = event(
        notification('notifications/progress', { progress: times.length }),
        `e${times.length}`,
      );
      if (times.length === 1) events(response, 'id: e0\nretry: 80\ndata: \n\n').end();
      else if (times.length === 4) events(response, event({ jsonrpc: '2.0', id: 1, result: {} })).end();
      else {
        // Half of an event does not count: the event comes again.
        events(response, progressEvent, 'id: e9\ndata: {"jsonrpc":"2.0","id":1,"res');
        setTimeout(() => response.destroy(), 5);
      }
    });
    const opened = await open(server.url, quick);
    await opened.client.send(request(1, 'tools/call'));
    expect(await opened.answer(1)).toHaveProperty('result');
    expect(server.asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'e0', 'e2', 'e3']);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(80);
    expect(opened.inbox).toHaveLength(3);
  });

  test('is resumed after any event id that a header can contain', async () => {
    const ids = ['ä 漢😀', 'x'.repeat(3000), '\u0001'];
    const server = await serving((asked, response) => {
      if (asked.method === 'GET') events(response, event({ jsonrpc: '2.0', id: 1, result: {} })).end();
      else events(response, `id: ${ids[asked.body.id - 1]}\nretry: 1\ndata: \n\n`).end();
    });
    const opened = await open(server.url, quick);
    await opened.client.send(request(1, 'tools/call'));
    expect(await opened.answer(1)).toHaveProperty('result');
    const place = server.asked[1]!.headers['last-event-id'] as string;
    expect(Buffer.from(place, 'latin1').toString()).toBe(ids[0]);
    for (const id of [2, 3]) {
      await opened.client.send(request(id, 'tools/call'));
      expect(await opened.answer(id)).toHaveProperty('error');
    }
    expect(server.asked).toHaveLength(4);
  });

  test('fails if its stream cannot be resumed', async () => {
    for (const [status, why] of [
      [405, 'status 405'],
      [500, 'failed too often'],
    ] as const) {
      const server = await serving((asked, response) => {
        if (asked.method === 'GET') response.writeHead(status).end();
        else events(response, 'id: e0\nretry: 1\ndata: \n\n').end();
      });
      const opened = await open(server.url, { reconnection: { maxAttempts: 2 } });
      await opened.client.send(request(1, 'tools/call'));
      const { error } = await opened.answer(1);
      expect(error).toMatchObject({ code: -32000, message: expect.stringContaining(why) });
      expect(server.asked).toHaveLength(status === 405 ? 2 : 3);
    }
  });

  test('fails if the server asks for too long a pause', async () => {
    const server = await serving(
      (_asked, response) => void events(response, 'id: e0\nretry: 99999999\ndata: \n\n').end(),
    );
    const opened = await open(server.url, quick);
    await opened.client.send(request(1, 'tools/call'));
    expect((await opened.answer(1)).error.message).toContain('failed too often');
    expect(server.asked).toHaveLength(1);
  });

  test('that is cancelled no longer keeps its stream open', async () => {
    let closed!: () => void;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const server = await serving((asked, response) => {
      if ('id' in asked.body) events(response, 'id: e0\ndata: \n\n').on('close', () => closed());
      else response.writeHead(202).end();
    });
    const opened = await open(server.url);
    await opened.client.send(request(1, 'tools/call'));
    await opened.client.send(notification('notifications/cancelled', { requestId: 1 }));
    await gone;
    expect(server.asked.map(({ body }) => body.method)).toEqual(['tools/call', 'notifications/cancelled']);
    expect(opened.inbox).toEqual([]);
  });

  test('fails with the error in the body, and its status as the cause', async () => {
    const error = { code: -32022, message: 'Unsupported', data: { supported: ['2026-07-28'] } };
    const server = await scripted(({ body }, response) => json(response, { jsonrpc: '2.0', id: body.id, error }, 400));
    const thrown = await thrownBy((await open(server.url)).client.send(request(1, 'initialize')));
    expect(thrown).toMatchObject({ ...error, cause: { name: 'HttpStatusError', status: 400 } });
  });

  test.each([202, 204, 400, 404, 405, 500, 502])(
    'fails if it is answered with status %d and no body',
    async (status) => {
      const server = await scripted((_asked, response) => void response.writeHead(status).end());
      const opened = await open(server.url);
      const error = await thrownBy(opened.client.send(request(1, 'initialize')));
      expect(error).toBeInstanceOf(HttpStatusError);
      expect(error).toMatchObject({
        status,
        message: expect.stringContaining(`${server.url.href} with status ${status}`),
      });
      expect(opened.closed.times).toBe(0);
    },
  );

  test('fails if the body is not a response', async () => {
    const server = await serving((asked, response) => {
      json(
        response,
        asked.body.id === 1 ? answerTo({ ...asked, body: { id: 77 } }) : { ...answerTo(asked), result: 5 },
      );
    });
    const opened = await open(server.url);
    await expect(opened.client.send(request(1, 'ping'))).rejects.toThrow('not a response to the request');
    await opened.client.send(request(2, 'ping'));
    expect((await opened.answer(2)).error.message).toContain('"result" must be an object');
  });

  test('to an unreachable server fails with an error that says so', async () => {
    const opened = await open(await closedPort());
    expect(await thrownBy(opened.client.send(request(1, 'initialize')))).toBeInstanceOf(NotSent);
  });

  test('leaves nothing in memory after its response', async () => {
    const server = await serving((asked, response) => {
      if (asked.body.id % 2) json(response, answerTo(asked));
      else events(response, event(answerTo(asked))).end();
    });
    const opened = await open(server.url);
    for (let id = 1; id <= 50; id += 1) {
      await opened.client.send(request(id, 'ping'));
      await opened.answer(id);
    }
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  test('in flight fails when the transport closes', async () => {
    const server = await serving((asked, response) => void (asked.body.id === 1 && events(response)));
    const opened = await open(server.url);
    await opened.client.send(request(1, 'ping'));
    const waiting = thrownBy(opened.client.send(request(2, 'ping')));
    await vi.waitUntil(() => server.asked.length === 2);
    await opened.client.close();
    expect(await waiting).toMatchObject({ message: 'The connection was closed' });
    expect(opened.closed.times).toBe(1);
    await expect(opened.client.send(request(3, 'ping'))).rejects.toThrow('closed');
  });
});

describe('messages that need no response', () => {
  test('are sent in order, one after the other', async () => {
    const order: unknown[] = [];
    const server = await serving(({ body }, response) => {
      order.push(body.params.n);
      setTimeout(() => response.writeHead(202).end(), body.params.n === 1 ? 30 : 0);
    });
    const opened = await open(server.url);
    await Promise.all([1, 2, 3].map((n) => opened.client.send(notification('n', { n }))));
    expect(order).toEqual([1, 2, 3]);
  });

  test('do not block the next ones if one is refused', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await serving(({ body }, response) => {
      if (body.params.n === 1) response.writeHead(400).end();
      else if (body.params.n === 2) vi.advanceTimersByTime(50);
      else response.writeHead(202).end();
    });
    const opened = await open(server.url, { acceptTimeout: 50 });
    const sent = [1, 2, 3].map((n) => opened.client.send(notification('n', { n })));
    const results = await Promise.allSettled(sent);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    await expect(sent[1]).rejects.toThrow('did not accept a message within 50 ms');
  });

  test('a response or notification whose connection is lost is sent again', async () => {
    const got: unknown[] = [];
    const server = await serving(({ body }, response) => {
      if (got.push(body) === 1 || body.method === 'twice') response.socket!.resetAndDestroy();
      else response.writeHead(202).end();
    });
    const { client, errors } = await open(server.url);
    const answer = resultResponse('q1', { roots: [] });
    await client.send(answer);
    expect(got).toEqual([answer, answer]);
    await expect(client.send(notification('twice'))).rejects.toThrow(AnswerLost);
    expect(got.slice(2)).toEqual([notification('twice'), notification('twice')]);
    expect(errors).toEqual([]);
  });

  test('may wait only in a limited number', async () => {
    const server = await serving(() => {});
    const opened = await open(server.url, { maxPending: 1000 });
    const waiting = thrownBy(opened.client.send(notification('n', { text: 'x'.repeat(800) })));
    await expect(opened.client.send(notification('n', { text: 'x'.repeat(800) }))).rejects.toThrow('More than 1000');
    await opened.client.close();
    await waiting;
  });
});

test('a malformed request from the server is answered by a POST, and the call on the same stream continues', async () => {
  let stream!: ServerResponse;
  const server = await serving((asked, response) => {
    if (asked.body.method === 'tools/call') {
      stream = events(response, event({ jsonrpc: '2.0', id: 's1', method: 'elicitation/create', params: 'str' }));
      return;
    }
    response.writeHead(202).end();
    stream.end(event({ jsonrpc: '2.0', id: 1, result: {} }));
  });
  const opened = await open(server.url);
  await handshake(opened);
  await opened.client.send(request(1, 'tools/call'));
  expect(await opened.answer(1)).toMatchObject({ result: {} });
  const errorPost = server.asked.find(({ body }) => body?.error);
  expect(errorPost?.body).toMatchObject({ id: 's1', error: { code: -32600 } });
  expect(errorPost?.headers).toMatchObject(SESSION);
  expect(opened.errors).toHaveLength(1);
});
