import { expect, test } from 'vitest';
import { Capture } from '../../src/inspect/capture.ts';
import { LineBuffer } from '../../src/inspect/line-buffer.ts';
import type { ConnectionTap } from '../../src/transport/wiretap.ts';
import { RecordStore } from './record-store.ts';
import { readLine } from './wire-record.ts';

type Said = readonly [dir: 'c>s' | 's>c', message: object];

const DISCOVER: Said = ['c>s', { id: 1, method: 'server/discover' }];
const UNKNOWN: Said = ['s>c', { id: 1, error: { code: -32601, message: 'Method not found' } }];
const INITIALIZE: Said = ['c>s', { id: 2, method: 'initialize', params: { protocolVersion: '2025-11-25' } }];

/** The methods of the calls that are probes, when this was said over stdio. */
function probes(...said: Said[]): Promise<(string | undefined)[]> {
  return probesOf(said.map((each) => ['node', each]));
}

/** The same for messages of several servers. */
async function probesOf(said: readonly (readonly [server: string, Said])[]): Promise<(string | undefined)[]> {
  const capture = new Capture();
  const taps = new Map<string, ConnectionTap>();
  for (const [peer, [dir, message]] of said) {
    const tap = taps.get(peer) ?? capture.open({ protocol: 'stdio', role: 'client', peer });
    taps.set(peer, tap);
    tap.bytes(dir, Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
  }
  capture.close();
  const store = new RecordStore();
  for await (const records of capture.records({ after: 0 })) {
    const buffer = new LineBuffer(false);
    for (const record of records) buffer.add(record);
    store.add(buffer.take().toString().trimEnd().split('\n').map(readLine));
  }
  return [...store.spans.all()].filter((span) => store.isProbe(span)).map(({ method }) => method);
}

test('a discovery that failed before a handshake is a probe of an older server', async () => {
  expect(await probes(DISCOVER, UNKNOWN, INITIALIZE)).toEqual(['server/discover']);
});

test('a discovery is no probe without an error, or without a handshake after it', async () => {
  expect(await probes(DISCOVER, UNKNOWN)).toEqual([]);
  expect(await probes(DISCOVER, INITIALIZE)).toEqual([]);
  expect(await probes(INITIALIZE, DISCOVER, UNKNOWN)).toEqual([]);
});

test('a discovery that was answered is no probe, whatever follows', async () => {
  expect(await probes(DISCOVER, ['s>c', { id: 1, result: {} }], INITIALIZE)).toEqual([]);
});

test.each([
  [998, ['server/discover']],
  [1000, []],
])('a discovery is forgotten after those of a thousand other servers (%d of them)', async (others, expected) => {
  const said = (server: string, ...all: Said[]) => all.map((each) => [server, each] as const);
  const between = Array.from({ length: others }, (_, n) => said(`other ${n}`, DISCOVER)).flat();
  expect(await probesOf([...said('node', DISCOVER, UNKNOWN), ...between, ...said('node', INITIALIZE)])).toEqual(
    expected,
  );
});
