import { expect, test } from 'vitest';
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
