import { expect, test } from 'vitest';
import type { Span } from '../../src/inspect/spans/span.ts';
import type { WireRecord } from '../wire/wire-record.ts';
import { ToolErrors } from './tool-errors.ts';

test('a pass over the calls reads no more results after 4 MiB', () => {
  const size = 1024 * 1024;
  const spans = Array.from({ length: 10 }, (_, at) => ({ tool: 't', answer: at }) as unknown as Span);
  const read: number[] = [];
  const store = {
    find: (n: number) => ({ n, range: [0, size] }) as unknown as WireRecord,
    text: ({ n }: WireRecord) => {
      read.push(n);
      return `{"result":{"isError":${n % 2 === 0}}}`;
    },
  };
  const pass = (): unknown[] => {
    read.length = 0;
    const errors = new ToolErrors(store);
    return [spans.filter((span) => errors.has(span)).map(({ answer }) => answer), errors.isPartial, [...read]];
  };
  expect(pass()).toEqual([[0, 2], true, [0, 1, 2, 3]]);
  expect(pass()).toEqual([[0, 2, 4, 6], true, [4, 5, 6, 7]]);
  expect(pass()).toEqual([[0, 2, 4, 6, 8], false, [8, 9]]);
  expect(pass()).toEqual([[0, 2, 4, 6, 8], false, []]);
});

test('only results that say so are errors', () => {
  const texts = ['{"result":{"isError":false}}', '{"result":{"a":{"isError":true}}}', '{"isError": true', '{}'];
  const find = (n: number): WireRecord => ({ n, range: [0, 1] }) as unknown as WireRecord;
  const errors = new ToolErrors({ find, text: ({ n }) => texts[n] });
  for (const answer of texts.keys()) expect(errors.has({ tool: 't', answer } as unknown as Span)).toBe(false);
  expect(errors.has({ answer: 0 } as unknown as Span)).toBe(false);
});
