import { expect, test } from 'vitest';
import { Capture } from '../inspect/capture.ts';
import type { WireRecord } from '../inspect/record.ts';
import { recordedWire, TooLargeToExport } from './recorded-wire.ts';

async function* recordsOf(capture: Capture): AsyncGenerator<WireRecord> {
  for await (const some of capture.records()) yield* some;
}

test('the messages of stdio are read, however the lines were cut', async () => {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'stdio', role: 'client' });
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"method":"a"}\n',
    '{"jsonrpc":"2.0",',
    '"id":2,"method":"b"}\nnot JSON\n',
  ])
    tap.bytes('c>s', Buffer.from(text));
  tap.bytes('s>c', Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":2,"result":{}}\n'));
  tap.close();
  capture.close();
  const { parts } = await recordedWire(recordsOf(capture));
  expect(parts.map(({ kind, from, text }) => [kind, from, text])).toEqual([
    ['message', 'client', '{"jsonrpc":"2.0","id":1,"method":"a"}'],
    ['message', 'client', '{"jsonrpc":"2.0","id":2,"method":"b"}'],
    ['message', 'server', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['message', 'server', '{"jsonrpc":"2.0","id":2,"result":{}}'],
  ]);
});

test('a recording with more text than an export may have is refused', async () => {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'stdio', role: 'client' });
  const message = '{"jsonrpc":"2.0","method":"a"}';
  tap.bytes('c>s', Buffer.from(`${message}\n`.repeat(2)));
  tap.close();
  capture.close();
  const needed = 2 * (message.length + 256);
  expect((await recordedWire(recordsOf(capture), needed)).parts).toHaveLength(2);
  await expect(recordedWire(recordsOf(capture), needed - 1)).rejects.toThrow(TooLargeToExport);
});

/** A request with an event stream as its response, as the two connections of a bridge carry it. */
function bridged(message: string): Capture {
  const capture = new Capture();
  const request = 'POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n';
  const event = `data: ${message}\n\n`;
  const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${event.length}\r\n\r\n`;
  for (const role of ['client', 'server'] as const) {
    const tap = capture.open({ protocol: 'http', role });
    tap.bytes('c>s', Buffer.from(request));
    tap.bytes('s>c', Buffer.from(head + event));
    tap.close();
  }
  capture.close();
  return capture;
}

test('of a recording of a bridge, each message of its clients counts once', async () => {
  const message = JSON.stringify({ jsonrpc: '2.0', method: 'a', params: { text: 'x'.repeat(10_000) } });
  const { parts, exchanges } = await recordedWire(recordsOf(bridged(message)), 12_000);
  expect(parts.map(({ kind, conn }) => [kind, conn])).toEqual([
    ['head', 2],
    ['head', 2],
    ['message', 2],
  ]);
  expect(exchanges.map(({ responseBody }) => responseBody)).toEqual([`data: ${message}\n\n`]);
});

test('a recording whose bodies have more text than an export may have is refused', async () => {
  const noMessage = 'x'.repeat(10_000);
  await expect(recordedWire(recordsOf(bridged(noMessage)), 10_000)).rejects.toThrow(TooLargeToExport);
});
