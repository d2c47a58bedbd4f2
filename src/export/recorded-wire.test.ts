import { expect, test } from 'vitest';
import { Capture } from '../inspect/capture.ts';
import type { WireRecord } from '../inspect/record.ts';
import { recordedWire } from './recorded-wire.ts';

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
  async function* records(): AsyncGenerator<WireRecord> {
    for await (const some of capture.records()) yield* some;
  }
  const { parts } = await recordedWire(records());
  expect(parts.map(({ kind, from, text }) => [kind, from, text])).toEqual([
    ['message', 'client', '{"jsonrpc":"2.0","id":1,"method":"a"}'],
    ['message', 'client', '{"jsonrpc":"2.0","id":2,"method":"b"}'],
    ['message', 'server', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['message', 'server', '{"jsonrpc":"2.0","id":2,"result":{}}'],
  ]);
});
