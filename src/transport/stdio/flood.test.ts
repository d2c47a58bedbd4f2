import { Readable, Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { request, resultResponse, type Message } from '../../jsonrpc/message.ts';
import { streamTransport } from './stream.ts';

test('a server that floods pings and reads no answers is not read until it reads them', async () => {
  const pings = 100_000;
  const perChunk = 500;
  function* flood() {
    for (let id = 0; id < pings; id += perChunk) {
      yield Array.from({ length: perChunk }, (_, n) => `${JSON.stringify(request(id + n, 'ping'))}\n`).join('');
    }
  }
  let reads = false;
  let held: (() => void) | undefined;
  const output = new Writable({
    write: (_chunk, _encoding, done) => {
      if (reads) done();
      else held = done;
    },
  });
  const input = Readable.from(flood());
  const client = streamTransport(input, output, { role: 'client' });
  onTestFinished(() => client.close());
  const errors: Error[] = [];
  let delivered = 0;
  client.onerror = (error) => void errors.push(error);
  client.onmessage = (message: Message) => {
    if (!('method' in message) || !('id' in message)) return;
    delivered += 1;
    client.send(resultResponse(message.id, {})).catch((error: Error) => errors.push(error));
  };
  client.onclose = () => {};
  await client.start();
  await vi.waitUntil(() => input.isPaused() || delivered === pings, 20_000);
  expect(delivered).toBeLessThan(10_000);
  reads = true;
  held?.();
  await vi.waitUntil(() => delivered === pings, 20_000);
  expect(errors).toEqual([]);
});
