import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { request, type Message } from '../../src/jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../src/jsonrpc/pending.ts';
import { AnswerLost } from '../../src/transport/http/client/errors.ts';
import { httpCarrier } from '../../src/transport/http/client/http-carrier.ts';
import type { HttpSend } from '../../src/transport/http/client/http.ts';
import { fetchHttp } from '../../src/transport/http/client/fetch-http.ts';
import { pooledHttp } from '../../src/transport/http/client/pooled-http.ts';
import { StreamableClient } from '../../src/transport/http/client/streamable-client.ts';
import { rawServer } from '../support/http-server.ts';
import { Lifetime } from '../../src/base/lifetime.ts';

/** Every request settles, wherever its response breaks off. */

const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'ä😀' } });
const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const RESPONSES: Record<string, string> = {
  JSON:
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(answer)}\r\n` +
    `\r\n${answer}`,
  'an event stream':
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
    `${chunked(': hello\n\n')}${chunked(`data: ${answer}\n\n`)}0\r\n\r\n`,
};
const ENDS: Record<string, (socket: Socket) => void> = {
  'is reset': (socket) => socket.resetAndDestroy(),
  'is closed': (socket) => socket.end(),
};

/** A server that sends each connection one byte more than the last, and then ends it. */
function breaking(response: Buffer, end: (socket: Socket) => void): Promise<URL> {
  return rawServer((socket, count) => {
    socket.once('data', () => {
      socket.write(response.subarray(0, count - 1), () => setImmediate(() => end(socket)));
    });
  });
}

const clients: Record<string, () => HttpSend> = { pooled: () => pooledHttp(), fetch: () => fetchHttp() };
const cases = Object.keys(clients).flatMap((client) =>
  Object.keys(RESPONSES).flatMap((kind) => Object.keys(ENDS).map((end) => [client, kind, end] as const)),
);

describe.each(cases)('over %s, if %s %s after each byte', (client, kind, end) => {
  const response = Buffer.from(RESPONSES[kind]!);

  test('a request without a session is answered or fails', async () => {
    const url = await breaking(response, ENDS[end]!);
    let answered = 0;
    for (let at = 0; at <= response.length; at += 1) {
      // A new client each time, so that the id is always the same.
      const carrier = httpCarrier(url, { http: clients[client]!() });
      const lifetime = new Lifetime();
      const outcome = await carrier.request({ method: 'ping', params: {}, lifetime, onnotification: () => {} }).then(
        (value) => JSON.stringify(value),
        (error: Error) => error.name,
      );
      expect([answer, AnswerLost.name]).toContain(outcome);
      if (outcome === answer) answered += 1;
      await carrier.close();
    }
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(20);
  });

  test('a request of a session is answered or fails', async () => {
    const url = await breaking(response, ENDS[end]!);
    let answered = 0;
    for (let at = 0; at <= response.length; at += 1) {
      const transport = new StreamableClient(url, { http: clients[client]!() });
      const inbox: Message[] = [];
      transport.onmessage = (message) => void inbox.push(message);
      await transport.start();
      const outcome = await transport.send(request(1, 'ping')).then(
        async () => {
          await vi.waitUntil(() => inbox.length > 0, { interval: 1 });
          return 'error' in inbox[0]! ? inbox[0].error.code : JSON.stringify(inbox[0]);
        },
        (error: Error) => error.name,
      );
      expect([answer, CONNECTION_CLOSED, AnswerLost.name]).toContain(outcome);
      if (outcome === answer) answered += 1;
      expect(inbox.length).toBeLessThanOrEqual(1);
      await transport.close();
    }
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(20);
  });
});

test('a connection that the server closed while it was idle is not used again', async () => {
  let closed: () => void;
  const url = await rawServer((socket) => {
    // The server does not say how long it keeps connections open.
    socket.once('data', () => socket.end(RESPONSES['JSON']!));
    socket.on('close', () => closed());
  });
  const send = pooledHttp();
  for (let n = 0; n < 20; n += 1) {
    const over = new Promise<void>((resolve) => (closed = resolve));
    const reply = await send({ method: 'POST', url, headers: {}, body: '{}' });
    expect(await reply.text(1000)).toBe(answer);
    await over;
  }
});

test('a response that stops after its headers times out', async () => {
  const url = await rawServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'));
  });
  const transport = new StreamableClient(url, { idleTimeout: 50 });
  onTestFinished(() => transport.close());
  const inbox: any[] = [];
  transport.onmessage = (message) => void inbox.push(message);
  await transport.start();
  await transport.send(request(1, 'tools/call'));
  await vi.waitUntil(() => inbox.length > 0);
  expect(inbox[0]).toMatchObject({ id: 1, error: { message: expect.stringContaining('for 50 ms') } });
});
