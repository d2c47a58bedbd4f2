import { PassThrough, Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { countTurns } from '../../../test/support/turns.ts';
import { Deferred } from '../../base/deferred.ts';
import { request, resultResponse, type Message } from '../../jsonrpc/message.ts';
import { childTransport } from './child.ts';
import { streamTransport } from './stream.ts';

const COUNT = 20;
const members = Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join(',');
const large = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{"a":{${members}}}}\n`;

/** Connections to servers. Each has received a large message but for its last byte. */
async function open(onmessage: (message: Message, from: number) => void) {
  const all = await Promise.all(
    Array.from({ length: COUNT }, async (_, n) => {
      const input = new PassThrough();
      const transport = streamTransport(input, new PassThrough(), { role: 'client' });
      onTestFinished(() => transport.close());
      transport.onmessage = (message) => onmessage(message, n);
      await transport.start();
      input.write(large(n).slice(0, -1));
      return { input, transport };
    }),
  );
  while (all.some(({ input }) => input.readableLength > 0)) await new Promise(setImmediate);
  return all;
}

test('large messages that many servers complete together are parsed in turns of the event loop', async () => {
  const now = countTurns();
  const seen: number[] = [];
  const done = new Deferred();
  const servers = await open(() => {
    if (seen.push(now()) === COUNT) done.resolve();
  });
  for (const { input } of servers) input.write('\n');
  await done.promise;
  expect(new Set(seen).size).toBeGreaterThan(1);
});

test('what a server sends after a large message comes after it, also at the end of its output', async () => {
  const seen = new Map<number, unknown[]>();
  const servers = await open((message, from) => {
    const ids = seen.get(from) ?? [];
    seen.set(from, [...ids, 'id' in message ? message.id : undefined]);
  });
  const closed = servers.map(({ transport }) => new Promise<void>((resolve) => (transport.onclose = resolve)));
  for (const [n, { input }] of servers.entries()) {
    input.write(`\n${JSON.stringify(resultResponse('small', {}))}\n${large(n)}`);
    input.end(JSON.stringify(resultResponse('last', {})));
  }
  await Promise.all(closed);
  expect([...seen.values()]).toEqual(Array.from({ length: COUNT }, (_, n) => [n, 'small', n, 'last']));
});

test('large last lines without a line end are parsed in turns of the event loop', async () => {
  const now = countTurns();
  const seen: number[] = [];
  const servers = await open(() => seen.push(now()));
  const closed = servers.map(({ transport }) => new Promise<void>((resolve) => (transport.onclose = resolve)));
  for (const { input } of servers) input.end();
  await Promise.all(closed);
  expect(seen.length).toBe(COUNT);
  expect(new Set(seen).size).toBeGreaterThan(1);
});

test('what waits keeps its place if somebody else resumes the stream, as Node does when a process exits', async () => {
  const input = new Readable({ read: () => {} });
  const transport = streamTransport(input, new PassThrough(), { role: 'client' });
  onTestFinished(() => transport.close());
  const seen: unknown[] = [];
  transport.onmessage = (message) => seen.push('id' in message && message.id);
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
  await transport.start();
  const line = (id: number): string => `${JSON.stringify(resultResponse(id, {}))}\n`;
  // Reading pauses after lines that are not messages.
  input.push(`${'no message\n'.repeat(800)}${line(1)}`);
  input.once('pause', () =>
    process.nextTick(() => {
      input.resume();
      input.push(line(2));
      input.push(null);
    }),
  );
  await closed;
  expect(seen).toEqual([1, 2]);
});

test('what children wrote before they exited together is delivered, all of it and in order', async () => {
  const script = `
    const members = Array.from({ length: 90_000 }, (_, n) => '"k' + n + '":1').join(',');
    const lines = ['{"jsonrpc":"2.0","id":0,"result":{"a":{' + members + '}}}'];
    for (let id = 1; id <= 100; id += 1) lines.push(JSON.stringify({ jsonrpc: '2.0', id, result: { text: 'x'.repeat(900) } }));
    process.stdin.once('data', () => process.stdout.write(lines.join('\\n') + '\\n', () => process.exit()));`;
  const children = Array.from({ length: 8 }, () => {
    const transport = childTransport({ command: process.execPath, args: ['-e', script] });
    onTestFinished(() => transport.close());
    const seen: unknown[] = [];
    transport.onmessage = (message) => seen.push('id' in message && message.id);
    return { transport, seen, closed: new Promise<void>((resolve) => (transport.onclose = resolve)) };
  });
  await Promise.all(children.map(({ transport }) => transport.start()));
  for (const { transport } of children) await transport.send(request(1, 'go'));
  await Promise.all(children.map(({ closed }) => closed));
  const all = Array.from({ length: 101 }, (_, id) => id);
  expect(children.map(({ seen }) => seen)).toEqual(children.map(() => all));
});

test('a connection that closes while its large message waits delivers nothing more', async () => {
  let seen = 0;
  const servers = await open(() => (seen += 1));
  for (const { input } of servers) input.write('\n');
  await new Promise(process.nextTick);
  const before = seen;
  await Promise.all(servers.map(({ transport }) => transport.close()));
  expect(before).toBeLessThan(COUNT);
  expect(seen).toBe(before);
});
