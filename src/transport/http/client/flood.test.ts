import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { event, events, scripted, type Asked } from '../../../../test/support/http-server.ts';
import { request, resultResponse, type Message } from '../../../jsonrpc/message.ts';
import type { Transport } from '../../transport.ts';
import { SseClient } from './sse-client.ts';
import { StreamableClient } from './streamable-client.ts';

const PINGS = 3000;
/** About 1 KiB each, so that a chunk contains only a few of them. */
const flood = Array.from({ length: PINGS }, (_, id) =>
  event({ ...request(id, 'ping'), params: { padding: 'x'.repeat(1000) } }),
).join('');

/** A server that takes some milliseconds for each response, and counts the simultaneous ones. */
function slowly() {
  const posts = { now: 0, most: 0, taken: 0 };
  const take = (response: ServerResponse): void => {
    posts.now += 1;
    posts.most = Math.max(posts.most, posts.now);
    setTimeout(() => {
      posts.now -= 1;
      posts.taken += 1;
      response.writeHead(202).end();
    }, 2);
  };
  return { posts, take };
}

/** A client that answers each ping at once, and how many pings it has read before the server got their responses. */
function answering(client: Transport, posts: { taken: number }) {
  const ahead = { most: 0 };
  const errors: Error[] = [];
  let delivered = 0;
  client.onerror = (error) => void errors.push(error);
  client.onmessage = (message: Message) => {
    if (!('method' in message) || !('id' in message)) return;
    delivered += 1;
    ahead.most = Math.max(ahead.most, delivered - posts.taken);
    client.send(resultResponse(message.id, {})).catch((error: Error) => errors.push(error));
  };
  onTestFinished(() => client.close());
  return { ahead, errors };
}

const all = (posts: { taken: number }) => vi.waitUntil(() => posts.taken === PINGS, { timeout: 30_000, interval: 20 });

test('a server that floods pings over Streamable HTTP gets 32 responses at a time, and is read no faster', async () => {
  const { posts, take } = slowly();
  const server = await scripted(({ body }: Asked, response) => {
    if (body?.method === 'tools/call') events(response, flood);
    else take(response);
  });
  const client = new StreamableClient(server.url);
  const { ahead, errors } = answering(client, posts);
  await client.start();
  await client.send(request(0, 'tools/call'));
  await all(posts);
  expect(posts.most).toBeLessThanOrEqual(32);
  expect(ahead.most).toBeLessThan(PINGS / 4);
  expect(errors).toEqual([]);
});

test('a server that floods pings over HTTP+SSE gets 32 responses at a time, and is read no faster', async () => {
  const { posts, take } = slowly();
  const server = await scripted(({ method }, response) => {
    if (method === 'GET') events(response, `event: endpoint\ndata: /messages\n\n${flood}`);
    else take(response);
  });
  const client = new SseClient(server.url);
  const { ahead, errors } = answering(client, posts);
  await client.start();
  await all(posts);
  expect(posts.most).toBeLessThanOrEqual(32);
  expect(ahead.most).toBeLessThan(PINGS / 4);
  expect(errors).toEqual([]);
});

test('a client with waiting responses can be closed, and can send requests', async () => {
  let held = 0;
  const server = await scripted(({ body }, response) => {
    if (body?.method === 'tools/call') events(response, flood);
    else if (body?.method === 'tools/list') response.writeHead(202).end();
    else if (body) held += 1;
    else response.end();
  });
  const client = new StreamableClient(server.url);
  const closed = vi.fn<() => void>();
  client.onclose = closed;
  let refused = 0;
  client.onmessage = (message: Message) => {
    if ('method' in message && 'id' in message) client.send(resultResponse(message.id, {})).catch(() => (refused += 1));
  };
  await client.start();
  await client.send(request('call', 'tools/call'));
  await vi.waitUntil(() => held === 32);
  await expect(client.send(request('list', 'tools/list'))).rejects.toThrow('there is no JSON body');
  await client.close();
  expect(closed).toHaveBeenCalledOnce();
  await vi.waitUntil(() => refused >= 32);
  expect(held).toBe(32);
});

test('timers run while a server floods notifications', async () => {
  const count = 20_000;
  const notices = event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
  const server = await scripted((_asked, response) => void events(response, notices.repeat(count)));
  const client = new StreamableClient(server.url);
  let delivered = 0;
  let cameWhenTimer = 0;
  client.onmessage = () => {
    if (delivered === 0) setTimeout(() => (cameWhenTimer = delivered), 0);
    delivered += 1;
  };
  onTestFinished(() => client.close());
  await client.start();
  await client.send(request(0, 'tools/call'));
  await vi.waitUntil(() => delivered === count, 20_000);
  expect(cameWhenTimer).toBeGreaterThan(0);
  expect(cameWhenTimer).toBeLessThan(count / 2);
});
