import { expect, test } from 'vitest';
import { Capture } from '../../src/inspect/capture.ts';
import { LineBuffer } from '../../src/inspect/line-buffer.ts';
import { RecordStore } from '../wire/record-store.ts';
import { readLine } from '../wire/wire-record.ts';
import { exportText } from './export-text.ts';

/** A session over stdio whose connection was closed. */
async function closedSession(): Promise<RecordStore> {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
  const say = (dir: 'c>s' | 's>c', message: object): void =>
    tap.bytes(dir, Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
  say('c>s', { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  say('s>c', { id: 1, result: { serverInfo: { name: 'weather', title: 'Weather <b>' } } });
  say('c>s', { id: 2, method: 'tools/call', params: { name: 'missing' } });
  say('s>c', { id: 2, error: { code: -32602, message: 'Unknown tool' } });
  tap.close();
  capture.close();
  const store = new RecordStore();
  for await (const records of capture.records({ after: 0 })) {
    const buffer = new LineBuffer(false);
    for (const record of records) buffer.add(record);
    store.add(buffer.take().toString().trimEnd().split('\n').map(readLine));
  }
  return store;
}

test('a whole session becomes a page that names the server, the time and the number of records', async () => {
  const started = new Date('2026-01-31T12:00:00.123Z');
  const source = { store: await closedSession(), name: 'node server.js', started, selection: undefined };
  const page = await exportText(source, 'html');
  expect(page).toContain('<title>Weather &lt;b&gt;, 2026-01-31 12:00:00 UTC, 4 records</title>');
  expect(page).toContain('<span>node server.js</span>');
  expect(page).toContain('<span class="what">tools/call <b>missing</b></span>');
  expect(page).toContain('<span class="what">tools/call -32602 Unknown tool</span>');
});
