import { describe, expect, test } from 'vitest';
import { garbageCollector } from '../../../../test/support/garbage-collector.ts';
import { EventSourceReader, EventTooLarge, type ServerSentEvent } from './event-source.ts';

function read(chunks: readonly (string | Uint8Array)[], maxEventLength = 1000) {
  const events: ServerSentEvent[] = [];
  const retries: number[] = [];
  const reader = new EventSourceReader({
    onevent: (event) => void events.push(event),
    onretry: (milliseconds) => void retries.push(milliseconds),
    maxEventLength,
  });
  for (const chunk of chunks) reader.feed(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return { events, retries };
}

const message = (data: string, id?: string): ServerSentEvent => ({ type: 'message', data, id });

describe('event streams', () => {
  test('have types, data on several lines, and ids', () => {
    const { events } = read(['event: endpoint\ndata: /a\n\nid: 7\ndata: one\ndata: two\n\ndata:x\nid\n\n']);
    expect(events).toEqual([
      { type: 'endpoint', data: '/a', id: undefined },
      message('one\ntwo', '7'),
      message('x', ''),
    ]);
  });

  test('are the same however their chunks are split', () => {
    const text = '\ufeffid: ä\r\ndata: 漢字 😀\r\n\r\ndata: a\rdata: b\r\r: comment\n\nretry: 12\n\ndata: end\n\n';
    const bytes = Buffer.from(text);
    const whole = read([bytes]);
    expect(whole.events).toEqual([message('漢字 😀', 'ä'), message('a\nb'), message('end')]);
    expect(whole.retries).toEqual([12]);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    }
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test('deliver an event whose last line ends with a carriage return at once', () => {
    expect(read(['data: x\r\r']).events).toEqual([message('x')]);
    expect(read(['data: x\r', '\n\r']).events).toEqual([message('x')]);
  });

  test('ignore unknown fields, ids with a null character, and retry times that are not digits', () => {
    const { events, retries } = read([
      'a\nx: y\nData: z\nid: a\0b\nretry: 1s\nretry: -1\nretry\ndata: d\n\nevent: e\n\n',
    ]);
    expect(events).toEqual([message('d')]);
    expect(retries).toEqual([]);
  });

  test.each(['a\n', 'retry:x\n', ':\n', 'data\n'])('of many lines %j are read quickly', (line) => {
    const chunk = `${line.repeat(30_000)}\n\n`;
    const before = process.cpuUsage();
    read(
      Array.from({ length: 20 }, () => chunk),
      16 * 1024 * 1024,
    );
    const { user, system } = process.cpuUsage(before);
    // 600,000 lines took four seconds when each unknown line created an error.
    expect((user + system) / 1000).toBeLessThan(1500);
  });

  test('ignore an incomplete event', () => {
    expect(read(['data: x\n\ndata: half']).events).toEqual([message('x')]);
    expect(read(['data: x\n\ndata: half\n']).events).toEqual([message('x')]);
  });

  test('may begin with an event that has an id and empty data', () => {
    expect(read(['id: 1\ndata: \n\n']).events).toEqual([message('', '1')]);
  });

  test('must not have a line or an event above the size limit', () => {
    const line = 'x'.repeat(60);
    expect(() => read([`data: ${line}`, line], 100)).toThrow(EventTooLarge);
    expect(() => read([`data: ${line}\n`, `data: ${line}\n`], 100)).toThrow(EventTooLarge);
    expect(() => read([`data: ${line}${line}\n\n`], 100)).toThrow(EventTooLarge);
    expect(read([`data: ${line}\n\n`, `data: ${line}\n\n`], 100).events).toHaveLength(2);
  });

  test.each(['data:\n', 'data\r\n', 'data:\r', 'data: x\n', 'event: a\n', ':\n'])(
    'must not have an event with too many short lines: %j',
    (line) => {
      const whole = line.repeat(150);
      const bytes = [...Buffer.from(whole + whole)].map((byte) => Uint8Array.of(byte));
      expect(() => read([whole, whole], 64 * 200)).toThrow(EventTooLarge);
      expect(() => read(bytes, 64 * 200)).toThrow(EventTooLarge);
      expect(() => read([`${whole}\n\n`, whole, '\n\n', whole], 64 * 200)).not.toThrow();
    },
  );
});

test('an unfinished event with a character beyond U+00FF counts as two bytes for each character', () => {
  const reader = new EventSourceReader({ maxEventLength: 1_000_000, onevent: () => {} });
  const feed = (text: string): void => reader.feed(Buffer.from(text));
  feed(`data: ${'x'.repeat(994)}`);
  expect(reader.unfinished).toBe(1000);
  feed('\u00ff');
  expect(reader.unfinished).toBe(1001);
  feed('\u4e2d');
  expect(reader.unfinished).toBe(2004);
  feed('\n\n');
  expect(reader.unfinished).toBe(0);
  feed('data: \u4e2d\n\ndata: xyz');
  expect(reader.unfinished).toBe(18);
  feed('\n\ndata: xyz');
  expect(reader.unfinished).toBe(9);
});

test('an unfinished line that comes two bytes at a time takes little more memory than its text', () => {
  const pieces = 1_000_000;
  const events: ServerSentEvent[] = [];
  const reader = new EventSourceReader({ onevent: (event) => void events.push(event), maxEventLength: 3 * pieces });
  const collect = garbageCollector();
  const piece = Buffer.from('ab');
  collect();
  const before = process.memoryUsage().heapUsed;
  reader.feed(Buffer.from('data:'));
  for (let count = 0; count < pieces; count += 1) reader.feed(piece);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3 * 2 * pieces);
  reader.feed(Buffer.from('\n\n'));
  expect(events).toEqual([message('ab'.repeat(pieces))]);
});
