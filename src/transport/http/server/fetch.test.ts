import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ModernHttp } from '../../../../test/support/modern.ts';
import { scripted } from '../../../../test/support/service.ts';
import { createHttpHandler } from './handler.ts';
import { fetchListener } from './fetch.ts';
import type { ReplyChannel } from '../../transport.ts';

/** The response to a request of 2026-07-28 that is never answered, and how to send it. */
function unanswered() {
  let take: (reply: ReplyChannel) => void;
  const pendingReply = new Promise<ReplyChannel>((resolve) => {
    take = resolve;
  });
  const handler = createHttpHandler({ grace: 0, onrequest: (_message, _extra, reply) => take(reply!) });
  const fetch = fetchListener(handler);
  const send = (signal: AbortSignal) =>
    fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        signal,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/list',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/list',
          params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
        }),
      }),
    );
  return { pendingReply, send };
}

test('a request ends when its signal fires during the response', async () => {
  const { pendingReply, send } = unanswered();
  const abort = new AbortController();
  const responding = send(abort.signal);
  const reply = await pendingReply;
  const closed = new Promise<void>((resolve) => {
    reply.onclose = () => resolve();
  });
  const response = await responding;
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  abort.abort();
  await closed;
  // A body that fails would be reported as an error by the host.
  await expect(response.text()).resolves.toEqual(expect.any(String));
});

test('a request ends if its signal fired before the response', async () => {
  const { pendingReply, send } = unanswered();
  const abort = new AbortController();
  const responding = send(abort.signal);
  const reply = await pendingReply;
  const closed = new Promise<void>((resolve) => {
    reply.onclose = () => resolve();
  });
  abort.abort();
  await responding.catch(() => {});
  await closed;
});

test('a slow but steady reader is not disconnected, however large the event', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const filler = 'x'.repeat(500_000);
  const { service } = scripted({
    big: (exchange) => {
      void exchange.notify('notifications/message', { level: 'info', data: filler });
      return { filler };
    },
  });
  const http = new ModernHttp(service, {}, { stallTimeout: 5000, keepAlive: 0 });
  const log = { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };
  let read = 0;
  for await (const { length } of (await http.call('big', log)).body!) {
    read += length;
    // A host takes the next chunk when its client has received this one.
    await vi.advanceTimersByTimeAsync(length / 20);
  }
  expect(read).toBeGreaterThan(1_000_000);
});

test('a body of a request made by hand that does not consist of bytes is refused, and nothing stays counted for it', async () => {
  const { handler, fetch } = new ModernHttp(scripted({}).service);
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue('text');
      controller.close();
    },
  });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body, duplex: 'half' }));
  expect(response.status).toBe(400);
  expect(handler.bufferedBytes).toBe(0);
});

test('a request whose URL is not valid is refused: Bun and Deno build it from the Host header', async () => {
  const { fetch } = new ModernHttp(scripted({}).service);
  for (const url of ['/mcp', 'http://127.0.0.1, evil.example/mcp']) {
    const request = Object.defineProperty(new Request('http://localhost/mcp'), 'url', { value: url });
    expect((await fetch(request)).status).toBe(400);
  }
});

test('a chunk of a large response does not keep the rest in memory', async () => {
  const { service } = scripted({ big: () => ({ filler: 'x'.repeat(500_000) }) });
  for await (const chunk of (await new ModernHttp(service).call('big')).body!) {
    expect(chunk.buffer.byteLength).toBeLessThanOrEqual(64 * 1024);
  }
});

test('of many requests that come at once, few results are in memory before they are counted', async () => {
  let finished = 0;
  let answered = 0;
  let most = 0;
  const { service } = scripted({
    big: () => {
      finished += 1;
      most = Math.max(most, finished - answered);
      return { filler: 'x'.repeat(100_000) };
    },
  });
  const http = new ModernHttp(service);
  const answer = async (): Promise<void> => {
    await http.call('big');
    answered += 1;
  };
  await Promise.all(Array.from({ length: 100 }, answer));
  expect(most).toBeLessThan(50);
});

test.each([
  ['JSON', 600_000],
  ['a stream', 0],
])('a response as %s that nobody reads is freed after the timeout', async (_, grace) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { service } = scripted({ big: () => ({ filler: 'x'.repeat(500_000) }) });
  const http = new ModernHttp(service, {}, { stallTimeout: 5000, keepAlive: 0, grace });
  const response = await http.call('big');
  await vi.waitFor(() => expect(http.handler.bufferedBytes).toBeGreaterThan(500_000));
  await vi.advanceTimersByTimeAsync(4000);
  expect(http.handler.bufferedBytes).toBeGreaterThan(500_000);
  await vi.advanceTimersByTimeAsync(1500);
  expect(http.handler.bufferedBytes).toBe(0);
  await expect(response.text()).rejects.toThrow('interrupted');
});

test('requests that come at once keep their asynchronous contexts', async () => {
  const storage = new AsyncLocalStorage<number>();
  const http = new ModernHttp(async () => ({ user: storage.getStore() }));
  const users = Array.from({ length: 25 }, (_, user) => user);
  const answers = await Promise.all(users.map((user) => storage.run(user, () => http.json('any/method'))));
  expect(answers.map(({ body }) => body.result.user)).toEqual(users);
});
