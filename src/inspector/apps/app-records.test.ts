import { expect, test } from 'vitest';
import { recordedWire } from '../../export/recorded-wire.ts';
import { Capture } from '../../inspect/capture.ts';
import { WireModel } from '../../lint/model/wire-model.ts';
import { callsOf } from '../../mock/calls-of.ts';
import type { WireRecord } from '../../inspect/record.ts';
import { AppServer } from './app-server.ts';
import { InspectedApps } from './inspected-apps.ts';

const message = (fields: object): string => JSON.stringify({ jsonrpc: '2.0', ...fields });

/** The records of a session over stdio, and of an app that called the same tool. */
async function records(): Promise<readonly WireRecord[]> {
  const capture = new Capture();
  const server = await AppServer.listen();
  server.embedIn('http://127.0.0.1:1');
  const apps = new InspectedApps(server, capture, () => {});
  const tap = capture.open({ protocol: 'stdio', role: 'client' });
  const send = (dir: 'c>s' | 's>c', fields: object): void => tap.bytes(dir, Buffer.from(`${message(fields)}\n`));
  const hello = { protocolVersion: '2025-11-25', capabilities: {} };
  send('c>s', { id: 0, method: 'initialize', params: { ...hello, clientInfo: { name: 'a', version: '1' } } });
  send('s>c', { id: 0, result: { ...hello, serverInfo: { name: 'b', version: '1' } } });
  send('c>s', { id: 1, method: 'tools/call', params: { name: 'x' } });
  send('s>c', { id: 1, result: { content: [] } });
  const { id } = apps.serve('a', { uri: 'ui://a', html: '' });
  apps.record({
    id,
    messages: [
      { from: 'app', text: message({ id: 1, method: 'ui/initialize' }) },
      { from: 'host', text: message({ id: 1, result: {} }) },
      { from: 'app', text: message({ id: 2, method: 'tools/call', params: { name: 'x' } }) },
      { from: 'host', text: message({ id: 2, result: { content: [] } }) },
    ],
  });
  apps.closeAll();
  apps.record({ id, messages: [{ from: 'app', text: message({ id: 3, method: 'late' }) }] });
  await apps.stop();
  tap.close();
  capture.close();
  const all: WireRecord[] = [];
  for await (const some of capture.records()) all.push(...some);
  return all;
}

test('the messages of an app are records of a connection of its own, until it is closed', async () => {
  const all = await records();
  const open = all.find((record) => record.layer === 'open' && record.protocol === 'app');
  expect(open).toMatchObject({ conn: 2, role: 'server', peer: 'ui://a' });
  const messages = all.filter((record) => record.layer === 'message' && record.conn === 2);
  expect(messages).toMatchObject([
    { dir: 'c>s', kind: 'request', id: 1, method: 'ui/initialize' },
    { dir: 's>c', kind: 'result', id: 1 },
    { dir: 'c>s', kind: 'request', id: 2, method: 'tools/call' },
    { dir: 's>c', kind: 'result', id: 2 },
  ]);
  expect(all.some((record) => record.layer === 'close' && record.conn === 2)).toBe(true);
});

test('the linter, exports and mocks leave them out', async () => {
  const all = await records();
  const model = new WireModel(1024 * 1024);
  const judged = all.flatMap((record) => [...model.add(record)].map(() => ('conn' in record ? record.conn : 0)));
  expect(new Set(judged)).toEqual(new Set([1]));
  async function* again(): AsyncGenerator<WireRecord> {
    yield* all;
  }
  const { parts } = await recordedWire(again());
  expect(parts.map(({ conn }) => conn)).toEqual([1, 1, 1, 1]);
  expect((await callsOf(again())).map((call) => ('method' in call.message ? call.message.method : ''))).toEqual([
    'initialize',
    'tools/call',
  ]);
});
