import { expect, test } from 'vitest';
import type { LintRecord } from '../lint-record.ts';
import { WireModel } from './wire-model.ts';

const LINE = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
const HEAD = Buffer.from(`POST / HTTP/1.1\r\ncontent-length: ${LINE.length}\r\n\r\n`);

/** The kinds of the events of records on a connection. */
function eventsOf(protocol: string, maxBytes: number, records: readonly Partial<LintRecord>[]): string[] {
  const model = new WireModel(maxBytes);
  const open = { layer: 'open', protocol, role: 'client' };
  return [open, ...records].flatMap((fields, n) =>
    [...model.add({ n: n + 1, conn: 1, dir: 'c>s', ...fields } as LintRecord)].map(({ on }) => on),
  );
}

function bytes(start: number, content: Uint8Array): Partial<LintRecord> {
  return { layer: 'bytes', range: [start, start + content.length], bytes: content };
}

test('a line around a gap is not one that is too large to be read', () => {
  const line: Partial<LintRecord> = { layer: 'line', range: [0, LINE.length] };
  const parts = [bytes(0, LINE.subarray(0, 20)), bytes(20, LINE.subarray(20))] as const;
  expect(eventsOf('stdio', 1000, [...parts, line])).toEqual(['line', 'message']);
  expect(eventsOf('stdio', 1000, [parts[0], { layer: 'gap' }, parts[1], line])).toEqual([]);
  // Bytes that were not kept are missing, too.
  expect(eventsOf('stdio', 10, [...parts, line])).toEqual([]);
  expect(eventsOf('stdio', 1000, [{ layer: 'line', range: [0, 4 * 1024 * 1024 + 1] }])).toEqual(['unread']);
});

test('a body that was not kept is not one that is too large to be read', () => {
  const end = HEAD.length + LINE.length;
  const head = [bytes(0, HEAD), { layer: 'head', range: [0, HEAD.length], exchange: 1 }] as const;
  const message = (to: number): Partial<LintRecord> => ({ layer: 'message', range: [HEAD.length, to], exchange: 1 });
  const body = bytes(HEAD.length, LINE);
  expect(eventsOf('http', 1000, [...head, body, message(end)])).toEqual(['request', 'message']);
  expect(eventsOf('http', HEAD.length, [...head, message(end)])).toEqual([]);
  expect(eventsOf('http', 1000, [...head, message(5_000_000)])).toEqual(['unread']);
});
