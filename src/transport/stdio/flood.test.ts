import { PassThrough, Readable, Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { notification, request, resultResponse, type Message } from '../../jsonrpc/message.ts';
import { streamTransport } from './stream.ts';

/** A client that reads the given chunks, and what it reports. */
async function reading(chunks: readonly string[]) {
  const client = streamTransport(Readable.from(chunks.map(Buffer.from)), new PassThrough(), { role: 'client' });
  onTestFinished(() => client.close());
  const errors: string[] = [];
  let delivered = 0;
  client.onerror = ({ message }) => void errors.push(message);
  client.onmessage = () => void (delivered += 1);
  const closed = new Promise<void>((resolve) => (client.onclose = resolve));
  await client.start();
  await closed;
  return { client, errors, delivered };
}

const notice = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/a' })}\n`;

test.each(['x\n', '{}\n', '1\n', '{\n', '[1]\n'])(
  '1,000 lines without a message between them close the connection of a client: %j',
  async (line) => {
    const { client, errors, delivered } = await reading([line.repeat(999), notice, line.repeat(1000), notice]);
    expect(client.closeReason?.message).toBe('The server does not speak MCP: 1000 lines in a row were not messages');
    expect(delivered).toBe(1);
    expect(errors).toHaveLength(102);
    expect(errors[100]).toBe(
      'The server wrote more than 100 lines that are not messages; further ones are not reported',
    );
    expect(errors[101]).toBe(client.closeReason?.message);
  },
);

test('a server that logs to stdout between its messages is usable', async () => {
  const { client, delivered } = await reading([`${'a line of a log\n'.repeat(500)}${notice}`.repeat(20)]);
  expect(client.closeReason).toBeUndefined();
  expect(delivered).toBe(20);
});

test('timers run between chunks of invalid lines from a server', async () => {
  const chunk = `${'{\n'.repeat(900)}${notice}`.repeat(10);
  const input = new PassThrough();
  const client = streamTransport(input, new PassThrough(), { role: 'client' });
  onTestFinished(() => client.close());
  let delivered = 0;
  let atTurn = 0;
  client.onmessage = () => {
    if (delivered === 0) setImmediate(() => (atTurn = delivered));
    delivered += 1;
  };
  client.onerror = () => {};
  await client.start();
  for (let n = 0; n < 10; n += 1) input.write(chunk);
  await vi.waitUntil(() => delivered === 100, 20_000);
  // A chunk has 18 kB.
  expect(atTurn).toBeLessThan(10);
});

test.each(['server', 'client'] as const)('a %s runs timers within a chunk of invalid lines', async (role) => {
  const chunk = `${'{\n'.repeat(900)}${notice}`.repeat(36);
  const input = new PassThrough();
  const transport = streamTransport(input, new PassThrough().resume(), { role });
  onTestFinished(() => transport.close());
  let delivered = 0;
  const atTurns: number[] = [];
  const count = (): void => {
    atTurns.push(delivered);
    if (delivered < 36) setImmediate(count);
  };
  transport.onmessage = () => {
    if (delivered === 0) setImmediate(count);
    delivered += 1;
  };
  transport.onerror = () => {};
  await transport.start();
  input.write(chunk);
  await vi.waitUntil(() => delivered === 36, 20_000);
  expect(atTurns.length).toBeGreaterThan(5);
  for (const [at, before] of atTurns.entries()) expect(before - (atTurns[at - 1] ?? 0)).toBeLessThan(10);
});

test.each(['server', 'client'] as const)('a %s runs timers within a chunk of small messages', async (role) => {
  const input = new PassThrough();
  const transport = streamTransport(input, new PassThrough().resume(), { role });
  onTestFinished(() => transport.close());
  let delivered = 0;
  const atTurns: number[] = [];
  const count = (): void => {
    atTurns.push(delivered);
    if (delivered < 10_000) setImmediate(count);
  };
  transport.onmessage = () => {
    if (delivered === 0) setImmediate(count);
    delivered += 1;
  };
  await transport.start();
  input.write(notice.repeat(10_000));
  await vi.waitUntil(() => delivered === 10_000, 20_000);
  expect(atTurns.length).toBeGreaterThan(5);
  for (const [at, before] of atTurns.entries()) expect(before - (atTurns[at - 1] ?? 0)).toBeLessThan(1500);
});

test('a client stops reading a server that floods pings and does not read the responses', async () => {
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

test.each([
  ['notifications', notice],
  ['requests with an id that is in use', `${JSON.stringify(request(1, 'a'))}\n`],
])('the event loop runs after 100 %s, so that a flood delays others only a little', async (_, line) => {
  const input = new PassThrough();
  const client = streamTransport(input, new PassThrough().resume(), { role: 'client' });
  onTestFinished(() => client.close());
  let lines = 0;
  let atTurn = 0;
  const count = (): void => {
    if (lines === 0) setImmediate(() => (atTurn = lines));
    lines += 1;
  };
  client.onmessage = count;
  client.onerror = count;
  await client.start();
  for (let n = 0; n < 10; n += 1) input.write(line.repeat(500));
  await vi.waitUntil(() => lines === 5000, 20_000);
  // The lines are counted after each 8 KiB.
  expect(atTurn).toBeLessThan(500);
});

test('a handler that sends more notifications in one turn than may wait still answers, and the connection stays', async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const server = streamTransport(input, output, { maxPendingBytes: 1024 * 1024 });
  onTestFinished(() => server.close());
  const refused: string[] = [];
  let handled = 0;
  server.onmessage = (message) => {
    if (!('id' in message)) return;
    for (let n = 0; n < 2000; n += 1)
      server.send(notification('notifications/message', { data: 'x'.repeat(1000) })).catch((error: Error) => {
        refused.push(error.message);
      });
    server.send(resultResponse(message.id, { text: 'y'.repeat(100_000) })).catch(() => {});
    handled += 1;
  };
  await server.start();
  input.write(`${JSON.stringify(request(1, 'a'))}\n${JSON.stringify(request(2, 'a'))}\n`);
  await vi.waitUntil(() => handled === 2 || server.closeReason, 30_000);
  let text = '';
  output.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const answers = (): Message[] =>
    text.split('\n').flatMap((line) => (line.endsWith('}') && line.includes('"result"') ? [JSON.parse(line)] : []));
  await vi.waitUntil(() => answers().length === 2, 30_000);
  expect(answers()).toMatchObject([1, 2].map((id) => ({ id, result: { text: 'y'.repeat(100_000) } })));
  expect(server.closeReason).toBeUndefined();
  expect(refused[0]).toBe('The peer does not read: more than 524288 bytes are waiting');
});
