import { expect, test } from 'vitest';
import { LineBuffer } from './line-buffer.ts';
import type { BytesRecord } from './record.ts';

function bytesRecord(bytes: Buffer, secret?: readonly number[]): BytesRecord {
  return { n: 7, t: 1500, conn: 3, dir: 's>c', layer: 'bytes', range: [10, 10 + bytes.length], secret, bytes };
}

function lineOf(record: BytesRecord, mask = true): string {
  const lines = new LineBuffer(mask);
  lines.add(record);
  return lines.take().toString();
}

const HEAD = { n: 7, t: 1500, conn: 3, dir: 's>c', layer: 'bytes' };

test('text is written as JSON.stringify writes it, whatever it contains', () => {
  const all = Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)).join('');
  for (const text of ['', all, '\u2028\ufeff\uffff€', '😀"\\/', '\\"\r\n'.repeat(10_000)]) {
    const bytes = Buffer.from(text);
    const fields = { ...HEAD, range: [10, 10 + bytes.length], data: text };
    expect(lineOf(bytesRecord(bytes))).toBe(`${JSON.stringify(fields)}\n`);
  }
});

test('bytes that are not UTF-8 are written as base64', () => {
  const bytes = Buffer.from([0x61, 0xe2, 0x82]);
  const fields = { ...HEAD, range: [10, 13], base64: bytes.toString('base64') };
  expect(lineOf(bytesRecord(bytes))).toBe(`${JSON.stringify(fields)}\n`);
});

test('secrets become asterisks only in masked lines, and the bytes themselves stay', () => {
  const bytes = Buffer.from('a=€b=\xff');
  const record = bytesRecord(bytes, [12, 15, 17, 19]);
  expect(lineOf(record)).toContain('"secret":[12,15,17,19],"data":"a=***b=**');
  expect(lineOf(record, false)).toContain('"data":"a=€b=ÿ"');
  expect(bytes.toString()).toBe('a=€b=\xff');
});

test('lines follow each other in memory that is used again', () => {
  const lines = new LineBuffer(true);
  const large = bytesRecord(Buffer.alloc(65_536, 1));
  let expected = '';
  for (let n = 0; n < 20; n += 1) {
    lines.add({ n, t: 1, layer: 'close', conn: 1 });
    lines.add(large);
    expected += `${JSON.stringify({ n, t: 1, layer: 'close', conn: 1 })}\n${lineOf(large)}`;
  }
  expect(lines.take().toString()).toBe(expected);
  expect(lines.isEmpty).toBe(true);
  lines.add({ n: 8, t: 1, layer: 'gap', from: 7 });
  expect(lines.take().toString()).toBe('{"n":8,"t":1,"layer":"gap","from":7}\n');
});
