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
