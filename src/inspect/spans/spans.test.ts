import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { importsOf } from '../../../scripts/imports.ts';
import { Capture } from '../capture.ts';
import { Spans, type Span, type SpansOptions } from './spans.ts';

type Json = Record<string, unknown>;
const call = (id: unknown, name = 'search', more: Json = {}): Json => ({
  id,
  method: 'tools/call',
  params: { name, ...more },
});
const result = (id: unknown, more: Json = {}): Json => ({ id, result: { ...more } });

/** Messages of connections, as records. Each takes a microsecond. */
class Wire {
  readonly spans: Spans;
  #n = 0;

  constructor(options?: SpansOptions) {
    this.spans = new Spans(options);
  }

  add(layer: string, fields: Json, text?: string): readonly Span[] {
    this.#n += 1;
    return this.spans.add({ n: this.#n, t: this.#n * 10, layer, ...fields }, () => text);
  }

  open(conn: number, protocol = 'stdio', role = 'client'): void {
    this.add('open', { conn, protocol, role });
  }

  send(conn: number, dir: string, message: Json | unknown[], exchange?: number): readonly Span[] {
    const text = JSON.stringify(message);
    const { id, method, error } = message as Json;
    const kind = Array.isArray(message)
      ? 'batch'
      : method === undefined
        ? error
          ? 'error'
          : 'result'
        : id === undefined
          ? 'notification'
          : 'request';
    const at = { conn, dir, ...(exchange !== undefined && { exchange }) };
    const known = { ...(typeof method === 'string' && { method }), ...(id !== undefined && id !== null && { id }) };
    return this.add('message', { ...at, kind, ...known }, text);
  }

  head(conn: number, dir: string, exchange: number, text: string): readonly Span[] {
    return this.add('head', { conn, dir, exchange }, text.replaceAll('\n', '\r\n') + '\r\n\r\n');
  }

  post(conn: number, exchange: number, message: Json, session?: string): readonly Span[] {
    this.head(
      conn,
      'c>s',
      exchange,
      `POST /mcp HTTP/1.1\nhost: x${session === undefined ? '' : `\nMcp-Session-Id: ${session}`}`,
    );
    return this.send(conn, 'c>s', message, exchange);
  }

  get shown(): string[] {
    return [...this.spans.all()].map(
      ({ id, tool, method, state, records }) => `${JSON.stringify(id)} ${tool ?? method} ${state} ${records.join(',')}`,
    );
  }
}

test('a call and its answer are a span, with times, tool and records', () => {
  const wire = new Wire();
  wire.open(1);
  wire.send(1, 'c>s', call(1));
  expect(wire.shown).toEqual(['1 "search" open 2'.replaceAll('"', '')]);
  wire.send(1, 's>c', result(1));
  wire.send(1, 'c>s', { id: 'a', method: 'ping' });
  wire.send(1, 's>c', { id: 'a', error: { code: 1, message: '' } });
  expect(wire.shown).toEqual(['1 search done 2,3', '"a" ping failed 4,5']);
  expect([...wire.spans.all()][0]).toEqual({
    number: 1,
    conn: 1,
    dir: 'c>s',
    id: 1,
    method: 'tools/call',
    tool: 'search',
    state: 'done',
    start: 20,
    end: 30,
    answer: 3,
    records: [2, 3],
    omitted: 0,
    parent: undefined,
  });
});

test('the same ids in the other direction, on another connection and of another type are other requests', () => {
  const wire = new Wire();
  wire.open(1);
  wire.open(2);
  wire.send(1, 'c>s', call(1, 'a'));
  wire.send(1, 's>c', { id: 1, method: 'ping' });
  wire.send(2, 'c>s', call(1, 'b'));
  wire.send(2, 'c>s', call('1', 'c'));
  wire.send(1, 'c>s', result(1));
  expect(wire.shown).toEqual(['1 a open 3', '1 ping done 4,7', '1 b open 5', '"1" c open 6']);
  wire.send(2, 's>c', result('1'));
  wire.send(1, 's>c', result(1));
  expect(wire.shown).toEqual(['1 a done 3,9', '1 ping done 4,7', '1 b open 5', '"1" c done 6,8']);
});

test('an id that is used again begins another span', () => {
  const wire = new Wire();
  wire.send(1, 'c>s', call(1, 'a'));
  wire.send(1, 's>c', result(1));
  wire.send(1, 'c>s', call(1, 'b'));
  wire.send(1, 'c>s', call(1, 'c'));
  wire.send(1, 's>c', result(1));
  expect(wire.send(1, 's>c', result(1))).toEqual([]);
  expect(wire.shown).toEqual(['1 a done 1,2', '1 b unanswered 3', '1 c done 4,5']);
});

test('progress, cancellation and notifications of a subscription belong to their requests', () => {
  const wire = new Wire();
  wire.send(1, 'c>s', call(1, 'a', { _meta: { progressToken: 'p' } }));
  wire.send(1, 'c>s', call(2, 'b', { _meta: { progressToken: 7 } }));
  wire.send(1, 'c>s', { id: 3, method: 'subscriptions/listen', params: {} });
  wire.send(1, 's>c', { method: 'notifications/progress', params: { progressToken: 7, progress: 1 } });
  wire.send(1, 's>c', { method: 'notifications/progress', params: { progressToken: 'unknown', progress: 1 } });
  wire.send(1, 'c>s', { method: 'notifications/cancelled', params: { requestId: 2 } });
  wire.send(1, 's>c', {
    method: 'notifications/tools/list_changed',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 3 } },
  });
  wire.send(1, 's>c', result(2));
  wire.send(1, 's>c', { method: 'notifications/cancelled', params: { requestId: 1 } });
  expect(wire.shown).toEqual(['1 a open 1', '2 b cancelled 2,4,6,8', '3 subscriptions/listen open 3,7']);
});

test('a question over stdio belongs to the only open call', () => {
  const wire = new Wire();
  wire.send(1, 'c>s', call(1));
  wire.send(1, 'c>s', { id: 9, method: 'ping' });
  wire.send(1, 's>c', { id: 1, method: 'elicitation/create', params: {} });
  wire.send(1, 'c>s', result(1));
  wire.send(1, 'c>s', call(2));
  wire.send(1, 's>c', { id: 2, method: 'roots/list' });
  wire.send(1, 's>c', result(1));
  expect(wire.shown).toEqual([
    '1 search done 1,3,4,7',
    '9 ping open 2',
    '1 elicitation/create done 3,4',
    '2 search open 5',
    '2 roots/list open 6',
  ]);
  expect([...wire.spans.all()].map(({ parent }) => parent?.number)).toEqual([
    undefined,
    undefined,
    1,
    undefined,
    undefined,
  ]);
});

test('a request that is repeated with input continues its span', () => {
  const wire = new Wire();
  wire.send(1, 'c>s', call(1, 'a'));
  wire.send(1, 'c>s', call(2, 'a'));
  wire.send(1, 's>c', result(1, { resultType: 'input_required', requestState: 'S', inputRequests: {} }));
  wire.send(1, 's>c', result(2, { resultType: 'input_required', inputRequests: {} }));
  expect(wire.shown).toEqual(['1 a input_required 1,3', '2 a input_required 2,4']);
  wire.send(1, 'c>s', call(3, 'a', { requestState: 'S', inputResponses: {} }));
  wire.send(1, 'c>s', call(4, 'a', { inputResponses: {} }));
  wire.send(1, 's>c', result(4));
  wire.send(1, 's>c', result(3));
  expect(wire.shown).toEqual(['1 a done 1,3,5,8', '2 a done 2,4,6,7']);
  wire.send(1, 'c>s', call(5, 'a', { requestState: 'S', inputResponses: {} }));
  expect(wire.shown.at(-1)).toBe('5 a open 9');
});

test('over HTTP the exchange says what belongs together, also if clients use the same ids', () => {
  const wire = new Wire();
  for (const conn of [1, 2]) wire.open(conn, 'http', 'server');
  wire.post(1, 1, call(1, 'a'));
  wire.post(2, 1, call(1, 'b'));
  wire.send(2, 's>c', { method: 'notifications/message', params: {} }, 1);
  wire.send(2, 's>c', { id: 1, method: 'elicitation/create' }, 1);
  wire.send(2, 's>c', result(1), 1);
  wire.post(2, 2, call(1, 'c'));
  wire.send(2, 's>c', { id: null, error: { code: 1, message: '' } }, 2);
  expect(wire.shown).toEqual(['1 a open 4', '1 b done 6,7,8,9', '1 elicitation/create open 8', '1 c failed 11,12']);
});

test('over HTTP a session joins what passes on several connections', () => {
  const wire = new Wire();
  for (const conn of [1, 2, 3]) wire.open(conn, 'http', 'server');
  wire.post(1, 1, call(1, 'a'), 'A');
  wire.post(2, 1, call(1, 'b'), 'B');
  wire.send(1, 's>c', { id: 5, method: 'sampling/createMessage' }, 1);
  wire.send(2, 's>c', { id: 5, method: 'sampling/createMessage' }, 1);
  wire.post(3, 1, result(5), 'A');
  wire.post(3, 2, { method: 'notifications/cancelled', params: { requestId: 1 } }, 'B');
  wire.add('close', { conn: 1 });
  expect(wire.shown).toEqual([
    '1 a unanswered 5,8,11',
    '1 b cancelled 7,9,13',
    '5 sampling/createMessage done 8,11',
    '5 sampling/createMessage open 9',
  ]);
  // The stream of the call is resumed.
  wire.head(3, 'c>s', 3, 'GET /mcp HTTP/1.1\nmcp-session-id: A');
  wire.head(3, 's>c', 3, 'HTTP/1.1 200 OK');
  wire.send(3, 's>c', result(1), 3);
  expect(wire.shown[0]).toBe('1 a done 5,8,11,17');
});

test('without a session, an answer on another connection needs a call that can only be the one', () => {
  const wire = new Wire();
  for (const conn of [1, 2, 3, 5]) wire.open(conn, 'http', 'client');
  wire.open(4, 'http', 'server');
  wire.post(1, 1, call(1, 'a'));
  wire.head(1, 's>c', 1, 'HTTP/1.1 202 Accepted');
  wire.add('body', { conn: 1, dir: 's>c', exchange: 1 });
  wire.add('close', { conn: 1 });
  wire.post(4, 1, call(1, 'of the other side'));
  wire.send(2, 's>c', result(1), 1);
  wire.post(5, 1, call(2, 'b'));
  wire.post(3, 1, call(2, 'c'));
  expect(wire.send(2, 's>c', result(2), 1)).toEqual([]);
  expect(wire.shown).toEqual(['1 a done 7,13', '1 of the other side open 12', '2 b open 15', '2 c open 17']);
});

test('what HTTP refuses has failed, and a stream that ends leaves its call unanswered', () => {
  const wire = new Wire();
  wire.open(1, 'http');
  wire.post(1, 1, call(1));
  expect(wire.head(1, 's>c', 1, 'HTTP/1.1 401 Unauthorized')).toHaveLength(1);
  wire.post(1, 2, call(1));
  wire.head(1, 's>c', 2, 'HTTP/1.1 200 OK');
  wire.add('body', { conn: 1, dir: 's>c', exchange: 2 });
  wire.post(1, 3, call(1));
  wire.head(1, 's>c', 3, 'HTTP/1.1 400 Bad Request');
  wire.send(1, 's>c', { id: 1, error: { code: 1, message: '' } }, 3);
  expect(wire.shown).toEqual(['1 search failed 3,4', '1 search unanswered 6', '1 search failed 10,11,12']);
});

test('each message of a batch is in its own span', () => {
  const wire = new Wire();
  wire.send(1, 'c>s', [call(1, 'a'), call(2, 'b'), { method: 'notifications/initialized' }, 5]);
  expect(wire.send(1, 's>c', [result(2), result(1), result(3)])).toHaveLength(2);
  expect(wire.shown).toEqual(['1 a done 1,2', '2 b done 1,2']);
});

test('spans, their records and what is remembered of connections are limited', () => {
  const wire = new Wire({ maxSpans: 3, maxRecords: 2 });
  for (let id = 1; id <= 5; id += 1) wire.send(id, 'c>s', call(id));
  expect(wire.shown).toHaveLength(3);
  expect(wire.send(1, 's>c', result(1))).toEqual([]);
  for (let at = 0; at < 5; at += 1)
    wire.send(5, 'c>s', { method: 'notifications/cancelled', params: { requestId: 5 } });
  expect([...wire.spans.all()].at(-1)).toMatchObject({ records: [5, 7], omitted: 4 });
  for (let conn = 0; conn < 20_000; conn += 1) wire.open(conn + 10);
});

test('the end of a connection ends all calls that are open, however many there are', () => {
  const wire = new Wire();
  for (let id = 1; id <= 200; id += 1) wire.send(1, 'c>s', call(id));
  wire.add('close', { conn: 1 });
  expect(wire.shown.filter((line) => !line.includes(' unanswered '))).toEqual([]);
});

test('thousands of notifications in the exchange of a large batch take little time', async () => {
  const wire = new Wire();
  wire.open(1, 'http');
  const ids = Array.from({ length: 9000 }, (_, id) => call(id));
  wire.send(1, 'c>s', ids, 1);
  const notifications = Array.from({ length: 60_000 }, () => ({ method: 'notifications/message' }));
  for (let n = 0; n < 2; n += 1) {
    expect(wire.send(1, 's>c', notifications, 1)).toEqual([]);
    await new Promise((resolve) => void setImmediate(resolve));
  }
}, 10_000);

test('malformed messages belong to nothing, and do no harm', () => {
  const wire = new Wire();
  for (const text of [
    undefined,
    '',
    '{',
    '[',
    'null',
    '[[]]',
    '{"id":{},"method":1,"params":[]}',
    '{"params":"progressToken"}',
  ])
    for (const kind of ['request', 'notification', 'result', 'error', 'batch', undefined])
      wire.add('message', { conn: 1, dir: 'c>s', kind, method: 'tools/call' }, text);
  wire.add('gap', {});
  wire.add('head', { conn: 1, dir: 's>c', exchange: 1 }, undefined);
  expect(wire.shown).toEqual([]);
});

test('the records of a capture become spans', async () => {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'http', role: 'client' });
  const body = JSON.stringify({ jsonrpc: '2.0', ...call(1) });
  const answer = JSON.stringify({ jsonrpc: '2.0', ...result(1) });
  tap.bytes('c>s', Buffer.from(`POST / HTTP/1.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`));
  tap.bytes('s>c', Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ${answer}\n\n`));
  tap.close();
  capture.close();
  const spans = new Spans();
  let bytes: Buffer = Buffer.alloc(0);
  for await (const records of capture.records())
    for (const record of records) {
      if (record.layer === 'bytes') bytes = record.bytes;
      spans.add(record, () => ('range' in record ? bytes.toString('utf8', ...record.range.slice(0, 2)) : undefined));
    }
  expect([...spans.all()]).toMatchObject([{ id: 1, tool: 'search', state: 'done', exchange: 1, conn: 1 }]);
});

test('nothing here imports what only Node has', () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { specifier } of importsOf(readFileSync(file, 'utf8'))) {
      expect(specifier, file).toMatch(/^\./);
      visit(path.join(path.dirname(file), specifier!));
    }
  };
  visit(path.join(import.meta.dirname, 'spans.ts'));
});
