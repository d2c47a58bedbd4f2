import { expect, onTestFinished, test, vi } from 'vitest';
import { Capture } from '../../src/inspect/capture.ts';
import { LineBuffer } from '../../src/inspect/line-buffer.ts';
import type { WireConnection } from '../../src/transport/wiretap.ts';
import { RecordStore, type StoreLimits } from './record-store.ts';
import { otherSideOf, Requests } from './related.ts';
import { bytesOf } from './stream-bytes.ts';
import { summaryOf } from './summary.ts';
import { readLine, type WireRecord } from './wire-record.ts';
import { WireView } from './wire-view.ts';

/** A capture, and a store that gets its records as the page gets them. */
class World {
  readonly capture = new Capture();
  readonly store: RecordStore;
  readonly view: WireView;

  constructor(limits?: StoreLimits) {
    this.store = new RecordStore(limits);
    this.view = new WireView(this.store);
  }

  connect(connection: WireConnection): (dir: 'c>s' | 's>c', text: string | Buffer) => void {
    const tap = this.capture.open(connection);
    return (dir, text) => tap.bytes(dir, Buffer.from(text));
  }

  /** Brings the store up to date. */
  async read(): Promise<this> {
    const { newest } = this.capture;
    if (newest > this.store.newest)
      for await (const records of this.capture.records({ after: this.store.newest })) {
        const buffer = new LineBuffer(false);
        for (const record of records) buffer.add(record);
        const lines = buffer.take().toString().trimEnd().split('\n').map(readLine);
        for (let at = 0; at < lines.length; at += 10) this.store.add(lines.slice(at, at + 10));
        if (this.store.newest === newest) break;
      }
    this.view.update();
    return this;
  }

  get shown(): string[] {
    return this.view.rows.map(({ kind, layer, id }) => `${kind ?? layer} ${id ?? ''}`.trim());
  }
}

const STDIO = { protocol: 'stdio', role: 'client' } as const;

function message(fields: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n`;
}

function find(world: World, kind: string): WireRecord {
  return world.store.records.find((record) => record.kind === kind)!;
}

test('the bytes of a record are those that passed, whatever they are and however they were cut', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  const bytes = Buffer.from([
    ...Buffer.from('{"method":"ä€😀","x":"'),
    0xff,
    0xc3,
    0x28,
    ...Buffer.from('"}\nASCII only\n'),
  ]);
  for (let at = 0; at < bytes.length; at += 5) send('c>s', bytes.subarray(at, at + 5));
  await world.read();
  const lines = world.store.records.filter(({ layer }) => layer === 'line');
  const read = lines.map((line) => bytesOf(world.store.bytes(line).pieces));
  expect(Buffer.concat(read)).toEqual(bytes);
  expect(world.store.text(lines[1]!)).toBe('ASCII only\n');
  expect(world.store.head(lines[1]!, 5)).toBe('ASCII');
});

test('the oldest records and bytes are forgotten, and what is missing is said', async () => {
  const world = new World({ maxRecords: 100, maxBytes: 1000 });
  const send = world.connect(STDIO);
  for (let id = 1; id <= 200; id += 1) send('c>s', message({ id, method: 'ping' }));
  await world.read();
  const { records } = world.store;
  expect(records.length).toBeLessThanOrEqual(105);
  expect(records.at(-1)!.n).toBe(world.capture.newest);
  const messages = records.filter(({ layer }) => layer === 'message');
  expect(world.store.bytes(messages.at(-1)!).missing).toBe(0);
  expect(world.store.bytes(messages[0]!)).toEqual({ pieces: [], missing: 42 });
  expect(world.store.text(messages[0]!)).toBeUndefined();
  expect(world.shown).toHaveLength(messages.length);
  // Rows that leave at the top are counted, so that the others can stay in their place.
  const [, second] = world.view.rows;
  for (let id = 1; id <= 200; id += 1) send('c>s', message({ id, method: 'ping' }));
  const before = world.view.dropped;
  await world.read();
  expect(world.view.dropped - before).toBeGreaterThan(1);
  expect(world.view.rows).not.toContain(second);
});

test('messages are shown at first, and a filter that names layers shows others', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  send('c>s', message({ id: 1, method: 'tools/call', params: { name: 'find' } }));
  send('s>c', `noise\n${message({ id: 1, result: {} })}`);
  await world.read();
  expect(world.shown).toEqual(['request 1', 'result 1']);
  world.view.setFilter('layer:line');
  expect(world.shown).toEqual(['line', 'line', 'line']);
  world.view.setFilter('tool:find kind:result');
  expect(world.shown).toEqual(['result 1']);
  world.view.setFilter('');
  world.view.toggleGroup('Connections');
  expect(world.shown).toEqual(['open', 'request 1', 'result 1']);
});

test('a filter with a mistake leaves the last one in use', async () => {
  const world = new World();
  world.connect(STDIO)('c>s', message({ id: 1, method: 'ping' }) + message({ method: 'x' }));
  await world.read();
  world.view.setFilter('kind:request');
  world.view.setFilter('kind:');
  expect(world.shown).toEqual(['request 1']);
  expect(world.view.mistake.value).toMatchObject({ message: 'Write a value after "kind:", as in kind:error' });
  // It also decides about the layers.
  world.view.setFilter('layer:open');
  world.view.setFilter('kind:');
  expect(world.shown).toEqual(['open']);
});

test('a view that is paused shows nothing new until it goes on', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  send('c>s', message({ id: 1, method: 'ping' }));
  await world.read();
  world.view.togglePause();
  send('c>s', message({ id: 2, method: 'ping' }));
  await world.read();
  world.view.setFilter('method:ping');
  expect(world.shown).toEqual(['request 1']);
  world.view.togglePause();
  expect(world.shown).toEqual(['request 1', 'request 2']);
});

test('the selection moves over rows, also from a record that the filter hides', async () => {
  const world = new World();
  world.connect(STDIO)('c>s', [1, 2, 3, 4].map((id) => message({ id, method: id === 2 ? 'x' : 'ping' })).join(''));
  await world.read();
  const { view } = world;
  const moved = (by: number): unknown => {
    view.move(by);
    return view.selected.value?.id;
  };
  expect([moved(1), moved(1)]).toEqual([1, 2]);
  view.setFilter('method:ping');
  expect(moved(1)).toBe(3);
  view.reveal(view.rows[0]!.n + 2);
  expect(moved(-1)).toBe(1);
  expect([moved(Infinity), moved(1), moved(-Infinity), moved(-1)]).toEqual([4, 4, 1, 1]);
});

test('a filter stops after any large record if it takes long, so that the page can draw', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  for (const id of [1, 2, 3]) send('c>s', message({ id, method: 'ping', params: { text: 'x'.repeat(300_000) } }));
  await world.read();
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 60));
  onTestFinished(() => clock.mockRestore());
  world.view.setFilter('ping');
  expect(world.view.isBusy).toBe(true);
  await vi.waitFor(() => expect(world.view.isBusy).toBe(false));
  expect(world.shown).toEqual(['request 1', 'request 2', 'request 3']);
});

test('a filter for the state of calls shows a request when its answer comes, even if nothing follows', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  world.view.setFilter('state:done');
  send('c>s', message({ id: 1, method: 'ping' }));
  await world.read();
  send('s>c', message({ id: 1, result: {} }));
  await world.read();
  await vi.waitFor(() => expect(world.shown).toEqual(['request 1', 'result 1']));
});

test('a filter that runs again keeps its rows until it has seen all records, and ends although others come', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  const call = (id: number): void => {
    send('c>s', message({ id, method: 'ping', params: { text: 'x'.repeat(300_000) } }));
    send('s>c', message({ id, result: {} }));
  };
  for (const id of [1, 2, 3]) call(id);
  await world.read();
  world.view.setFilter('state:done ping or kind:result');
  await vi.waitFor(() => expect(world.shown).toHaveLength(6));
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 300));
  onTestFinished(() => clock.mockRestore());
  for (let id = 4; id < 40 && world.shown.length < 12; id += 1) {
    call(id);
    await world.read();
    expect(world.shown.slice(0, 6)).toEqual([
      'request 1',
      'result 1',
      'request 2',
      'result 2',
      'request 3',
      'result 3',
    ]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(world.shown.length).toBeGreaterThanOrEqual(12);
});

test('a call leads to the other side of a bridge only if one call can be meant', async () => {
  const world = new World();
  const client = world.connect({ protocol: 'stdio', role: 'server' });
  const server = world.connect({ protocol: 'stdio', role: 'client' });
  const call = (id: number, q: string): string =>
    message({ id, method: 'tools/call', params: { name: 'find', arguments: { q }, _meta: { progressToken: id } } });
  client('c>s', call(1, 'a'));
  server('c>s', call(70, 'a'));
  server('c>s', call(71, 'b'));
  server('s>c', message({ id: 70, result: {} }));
  client('s>c', message({ id: 1, result: {} }));
  await world.read();
  const [first, second, unrelated] = [...world.store.spans.all()];
  expect(otherSideOf(first!, world.store)).toBe(second);
  expect(otherSideOf(second!, world.store)).toBe(first);
  expect(otherSideOf(unrelated!, world.store)).toBeUndefined();
  // The same call twice at a time: nobody knows which is which.
  client('c>s', call(2, 'c') + call(3, 'c'));
  server('c>s', call(72, 'c') + call(73, 'c'));
  await world.read();
  const spans = [...world.store.spans.all()].slice(3);
  expect(spans.map((span) => otherSideOf(span, world.store))).toEqual([undefined, undefined, undefined, undefined]);
});

test('the other side is searched among few calls: those that ran at the same time, and 4 MiB of them', async () => {
  const world = new World();
  const client = world.connect({ protocol: 'stdio', role: 'server' });
  const server = world.connect({ protocol: 'stdio', role: 'client' });
  const call = (id: number): void => {
    const text = message({ id, method: 'tools/call', params: { name: 'find', q: id, x: 'x'.repeat(200_000) } });
    client('c>s', text);
    server('c>s', text);
  };
  for (let id = 1; id <= 20; id += 1) {
    call(id);
    server('s>c', message({ id, result: {} }));
    client('s>c', message({ id, result: {} }));
  }
  await world.read();
  const read = vi.spyOn(world.store, 'text');
  const spans = [...world.store.spans.all()];
  expect(otherSideOf(spans[38]!, world.store)).toBe(spans[39]);
  expect(read).toHaveBeenCalledTimes(2);
  for (let id = 21; id <= 40; id += 1) call(id);
  await world.read();
  read.mockClear();
  expect(otherSideOf([...world.store.spans.all()].at(-1)!, world.store)).toBeUndefined();
  expect(read).toHaveBeenCalledTimes(20);
});

test.each([1_500_000, 2_000_000])('a call of %i bytes on both sides leads to the other side', async (size) => {
  const world = new World();
  const client = world.connect({ protocol: 'stdio', role: 'server' });
  const server = world.connect({ protocol: 'stdio', role: 'client' });
  for (const send of [client, server])
    send('c>s', message({ id: 1, method: 'tools/call', params: { name: 'find', x: 'x'.repeat(size) } }));
  for (const send of [server, client]) send('s>c', message({ id: 1, result: {} }));
  await world.read();
  const read = vi.spyOn(world.store, 'text');
  const [a, b] = [...world.store.spans.all()];
  expect([a, b].map((span) => otherSideOf(span!, world.store))).toEqual([b, a]);
  // Each record once for each of the two searches.
  expect(read).toHaveBeenCalledTimes(4);
});

test('each call of a large batch leads to the other side, and the batch is read once', async () => {
  const world = new World();
  const client = world.connect({ protocol: 'stdio', role: 'server' });
  const server = world.connect({ protocol: 'stdio', role: 'client' });
  const calls = Array.from({ length: 10 }, (_, id) => ({
    id,
    method: 'tools/call',
    params: { name: 'find', id, x: 'x'.repeat(30_000) },
  }));
  client('c>s', `${JSON.stringify(calls)}\n`);
  for (const call of calls) server('c>s', message(call));
  for (const { id } of calls) server('s>c', message({ id, result: {} }));
  client('s>c', `${JSON.stringify(calls.map(({ id }) => ({ id, result: {} })))}\n`);
  await world.read();
  const spans = [...world.store.spans.all()];
  const [batch, singles] = [spans.slice(0, 10), spans.slice(10)];
  const read = vi.spyOn(world.store, 'text');
  const requests = new Requests(world.store);
  expect(batch.map((span) => otherSideOf(span, world.store, requests))).toEqual(singles);
  expect(read).toHaveBeenCalledTimes(11);
});

test('the messages of an app are a side of their own, and not one of a bridge', async () => {
  const world = new World();
  const server = world.connect({ protocol: 'http', role: 'client' });
  const app = world.connect({ protocol: 'app', role: 'server', peer: 'ui://a' });
  server('c>s', 'POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n');
  app('c>s', message({ id: 1, method: 'ui/initialize', params: {} }));
  app('s>c', message({ id: 1, result: {} }));
  await world.read();
  expect(world.store.hasBothSides).toBe(false);
  expect([1, 2].map((conn) => world.store.sideOf(conn))).toEqual([undefined, 'app']);
  expect(find(world, 'result').spans[0]).toMatchObject({ method: 'ui/initialize', state: 'done' });
  world.view.setFilter('side:app');
  expect(world.shown).toEqual(['request 1', 'result 1']);
  world.view.setFilter('-side:app');
  expect(world.shown).toEqual([]);
});

test('records after a lost connection go on after the newest, and a gap is a row', async () => {
  const world = new World();
  world.connect(STDIO)('c>s', message({ id: 1, method: 'ping' }));
  await world.read();
  const { newest } = world.store;
  const gap = readLine(JSON.stringify({ n: newest + 5, t: 9, layer: 'gap', from: newest + 1 }));
  world.store.add([gap]);
  world.view.update();
  expect(world.shown).toEqual(['request 1', 'gap']);
  expect(find(world, 'request').spans[0]).toMatchObject({ state: 'open' });
});

test('the bytes of records that are no longer kept are forgotten', async () => {
  const world = new World({ maxRecords: 100 });
  const send = world.connect(STDIO);
  const { store } = world;
  for (let id = 0; id < 200; id += 1) send('s>c', message({ id, result: {} }));
  await world.read();
  const [oldest] = store.records;
  const before = { ...oldest!, range: [0, oldest!.range![0]!] };
  expect(oldest!.range![0]).toBeGreaterThan(0);
  expect(store.bytes(before)).toEqual({ pieces: [], missing: oldest!.range![0] });
  expect(store.text(store.records.at(-1)!)).toContain('199');
});

test('each message of a batch belongs to its own call', async () => {
  const world = new World();
  const send = world.connect(STDIO);
  const call = (id: number, name: string): object => ({ id, method: 'tools/call', params: { name } });
  send('c>s', `${JSON.stringify([call(1, 'a'), call(2, 'b')])}\n${message(call(3, 'c'))}`);
  send('s>c', `${JSON.stringify([2, 3].map((id) => ({ id, result: {} })))}\n`);
  await world.read();
  const [calls, , answers] = world.store.records.filter(({ layer }) => layer === 'message');
  const tools = ({ spans }: WireRecord): unknown[] => spans.map(({ tool }) => tool);
  expect([calls!, answers!].map(tools)).toEqual([
    ['a', 'b'],
    ['b', 'c'],
  ]);
  expect(summaryOf(answers!, world.store)).toMatchObject({ what: 'tools/call', name: 'b, c' });
  expect(world.store.names.tool).toEqual(new Set(['a', 'b', 'c']));
  for (const [filter, rows] of [
    ['tool:a', ['batch']],
    ['tool:b', ['batch', 'batch']],
    ['tool:c', ['request 3', 'batch']],
    ['id:2', ['batch', 'batch']],
    ['state:open', ['batch']],
  ] as const) {
    world.view.setFilter(filter);
    expect(world.shown, filter).toEqual(rows);
  }
});

test('a call in a batch leads only to a call with its own parameters', async () => {
  const world = new World();
  const client = world.connect({ protocol: 'stdio', role: 'server' });
  const server = world.connect({ protocol: 'stdio', role: 'client' });
  const call = (id: number, name: string): object => ({ id, method: 'tools/call', params: { name } });
  client('c>s', `${JSON.stringify([call(1, 'a'), call(2, 'b')])}\n`);
  server('c>s', message(call(71, 'b')));
  server('s>c', message({ id: 71, result: {} }));
  client('s>c', `${JSON.stringify([1, 2].map((id) => ({ id, result: {} })))}\n`);
  await world.read();
  const [a, b, other] = [...world.store.spans.all()];
  expect([a, b, other].map((span) => otherSideOf(span!, world.store))).toEqual([undefined, other, b]);
});
