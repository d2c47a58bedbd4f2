import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { readEvents } from '../transport/http/client/event-stream.ts';
import type { HttpReply } from '../transport/http/client/http.ts';
import { pooledHttp } from '../transport/http/client/pooled-http.ts';
import { streamTransport } from '../transport/stdio/stream.ts';
import { Lifetime } from './lifetime.ts';
import { receiveBudget } from './receive-budget.ts';

const SIZE = 256 * 1024;
/** One more than there is room for. */
const COUNT = 17;
const exceeded = expect.stringContaining('There is no room for the message: more than 4194304 bytes');

const { limit } = receiveBudget;
beforeEach(() => void Object.assign(receiveBudget, { limit: 16 * SIZE }));
afterEach(() => void Object.assign(receiveBudget, { limit }));

/** Begins messages, one after the other, until the first one fails. Returns all failures. */
async function failures(begin: (n: number, failed: (reason: string) => void) => unknown): Promise<unknown[]> {
  const failed: unknown[] = [];
  for (let n = 0; n < COUNT; n += 1) {
    begin(n, (reason) => failed.push([n, reason]));
    await vi.waitUntil(() => failed.length > 0 || receiveBudget.bytes >= (n + 1) * SIZE, 20_000);
  }
  await vi.waitUntil(() => failed.length > 0);
  return failed;
}

test('unfinished lines of all connections are limited together: the one that has waited longest fails', async () => {
  const inputs: PassThrough[] = [];
  const failed = await failures(async (_, fail) => {
    const input = new PassThrough();
    inputs.push(input);
    const client = streamTransport(input, new PassThrough(), { role: 'client', maxMessageBytes: SIZE });
    onTestFinished(() => client.close());
    client.onclose = () => fail(client.closeReason!.message);
    await client.start();
    input.write(Buffer.alloc(SIZE, 'x'));
  });
  expect(failed).toEqual([[0, exceeded]]);
  for (const input of inputs) input.end('\n');
  await expect.poll(() => receiveBudget.bytes).toBe(0);
});

test('so are unfinished events', async () => {
  const stops: (() => void)[] = [];
  const failed = await failures((_, fail) => {
    const stopped = new Promise<void>((resolve) => stops.push(resolve));
    const reply = {
      async *chunks() {
        yield Buffer.alloc(SIZE, 'x');
        await stopped;
        yield Buffer.from('\n\n');
      },
    } as Partial<HttpReply> as HttpReply;
    const cancellation = new Lifetime();
    cancellation.onAbort(() => stops[0]!());
    const options = { idleTimeout: 0, maxEventLength: SIZE + 2, peer: 'a', cancellation, onevent: () => {} };
    readEvents(reply, options).catch(({ message }: Error) => fail(message));
  });
  expect(failed).toEqual([[0, exceeded]]);
  for (const stop of stops) stop();
  await expect.poll(() => receiveBudget.bytes).toBe(0);
});

test('so are unfinished bodies of responses', async () => {
  const responses: ServerResponse[] = [];
  let over = false;
  const server = createServer((_request, response) => {
    responses.push(response);
    if (over) response.end();
    else response.write(Buffer.alloc(SIZE, 'x'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const send = pooledHttp();
  const read: Promise<unknown>[] = [];
  const failed = await failures((_, fail) => {
    const text = send({ url, method: 'POST', headers: {}, body: '{}' }).then((reply) => reply.text(2 * SIZE));
    read.push(text.catch(({ message }: Error) => fail(message)));
  });
  // A body may take twice its size.
  expect(failed[0]).toEqual([0, exceeded]);
  over = true;
  for (const response of responses) response.end();
  await Promise.all(read);
  expect(receiveBudget.bytes).toBe(0);
});
