import { describe, expect, test } from 'vitest';
import { COUNTED_FROM, receiveBudget } from '../../base/receive-budget.ts';
import { LineReader } from './lines.ts';

function read(chunks: Iterable<string | Uint8Array>, { max = 1000, end = true } = {}): string[] {
  const found: string[] = [];
  const reader = new LineReader(
    {
      line: (text) => found.push(text),
      invalidUtf8: () => found.push('<invalid UTF-8>'),
      tooLong: () => found.push('<too long>'),
    },
    max,
  );
  for (const chunk of chunks) reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  if (end) reader.end();
  return found;
}

/** The lines are the same for the same bytes, split at every size. */
function everyCut(bytes: Uint8Array, options?: { max?: number }): string[][] {
  const cuts = [1, 2, 3, 5, 7, 16, bytes.length].map((size) => {
    const chunks: Uint8Array[] = [];
    for (let n = 0; n < bytes.length; n += size) chunks.push(bytes.subarray(n, n + size));
    return read(chunks, options);
  });
  return cuts;
}

function expectCuts(text: string | Uint8Array, lines: string[], options?: { max?: number }): void {
  for (const found of everyCut(Buffer.from(text), options)) expect(found).toEqual(lines);
}

/** The output of a reader with a limit of 10 bytes that looks for the id in longer lines. */
function skim(chunks: Iterable<string>): unknown[] {
  const found: unknown[] = [];
  const reader = new LineReader(
    {
      line: (text) => found.push(text),
      invalidUtf8: () => found.push('<invalid UTF-8>'),
      tooLong: () => found.push('<too long>'),
      skipped: ({ kind, id, hasMethod }) => found.push({ kind, id, hasMethod }),
      endless: () => found.push('<endless>'),
    },
    10,
  );
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  return found;
}

describe('lines above the size limit', () => {
  const envelope = { kind: 'message', id: 7, hasMethod: false };

  test.each([[['{"id":7,"result":{}}\n']], [['{"id":', '7,"result"', ':{}}\nok\n']]])(
    'are reported with their id and kind: %j',
    (chunks) => {
      expect(skim(chunks).slice(0, 2)).toEqual(['<too long>', envelope]);
    },
  );

  test('are each reported with their own id and kind', () => {
    expect(skim(['{"id":7,"result":{}}\n', 'ok\n', '[{"id":8,"result":{}}]\n'])).toEqual([
      '<too long>',
      envelope,
      'ok',
      '<too long>',
      { kind: 'batch', id: undefined, hasMethod: false },
    ]);
  });

  test('are endless above four times the limit, which is reported once', () => {
    const long = ['x'.repeat(11), ...Array.from({ length: 40 }, () => 'x')];
    expect(skim(long)).toEqual(['<too long>']);
    expect(skim([...long, 'x'])).toEqual(['<too long>', '<endless>']);
    expect(skim([...long, 'x', 'x', 'x'.repeat(100)])).toEqual(['<too long>', '<endless>']);
    const twice = skim([...long, 'x', '\nok\n', ...long, 'x']);
    expect(twice.filter((each) => typeof each === 'string')).toEqual([
      '<too long>',
      '<endless>',
      'ok',
      '<too long>',
      '<endless>',
    ]);
  });
});

describe('an unfinished line', () => {
  const start = Buffer.alloc(COUNTED_FROM, 'x');
  const hold = (): LineReader => {
    const reader = new LineReader({ line: () => {}, invalidUtf8: () => {}, tooLong: () => {} }, 2 * COUNTED_FROM);
    reader.push(start);
    return reader;
  };

  test('is counted for all connections together, until it ends or is dropped', () => {
    const before = receiveBudget.bytes;
    const [one, two] = [hold(), hold()];
    expect(receiveBudget.bytes).toBe(before + 2 * COUNTED_FROM);
    one.close();
    two.push(Buffer.from('\n'));
    expect(receiveBudget.bytes).toBe(before);
  });

  test('can be dropped to make room, even if nobody wants to know', () => {
    const reader = hold();
    expect(() => reader.cutOff()).not.toThrow();
    reader.close();
  });
});

describe('lines', () => {
  test('end at a newline, or at a carriage return and a newline', () => {
    expectCuts('one\ntwo\r\nthree\n', ['one', 'two', 'three']);
  });

  test('may contain any other Unicode line break, and a carriage return', () => {
    expectCuts('a\u2028b\u0085c\rd\n', ['a\u2028b\u0085c\rd']);
  });

  test('that are empty are ignored', () => {
    expectCuts('\n\r\n\none\n\n\r\ntwo\n\n', ['one', 'two']);
  });

  test('may lack their end if there are no more bytes', () => {
    expectCuts('one\ntwo', ['one', 'two']);
    expectCuts('one\ntwo\r', ['one', 'two']);
    expect(read(['one\ntwo'], { end: false })).toEqual(['one']);
  });

  test('with multi-byte characters are decoded correctly wherever they are split', () => {
    expectCuts('äöü\n漢字 😀\n\ufeffx\n', ['äöü', '漢字 😀', '\ufeffx']);
  });

  test('that are not UTF-8 do not affect the lines around them', () => {
    const bytes = Buffer.concat([
      Buffer.from('one\nbad '),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('\nthrée\n'),
      Buffer.from([0xed, 0xa0, 0x80, 10]),
    ]);
    expectCuts(bytes, ['one', '<invalid UTF-8>', 'thrée', '<invalid UTF-8>']);
  });

  test('above the limit are reported once and skipped', () => {
    expectCuts(
      `1234567890\n12345678901\nshort\n${'x'.repeat(100)}\nend`,
      ['1234567890', '<too long>', 'short', '<too long>', 'end'],
      { max: 10 },
    );
  });

  test('are limited in bytes, not in characters', () => {
    expectCuts('äääää\nääääää\n', ['äääää', '<too long>'], { max: 10 });
  });

  test('above the limit are reported before they end', () => {
    expect(read(['12345', '678901'], { max: 10, end: false })).toEqual(['<too long>']);
    expect(read(['12345', '678901', '23', '\nok\n'], { max: 10, end: false })).toEqual(['<too long>', 'ok']);
  });

  test('of 64 kB may arrive byte by byte', () => {
    const line = `{"text":"${'é漢x'.repeat(11_000)}"}`;
    const bytes = Buffer.from(`${line}\n${line}\n`);
    expect(
      read(
        Array.from(bytes, (byte) => Uint8Array.of(byte)),
        { max: 100_000 },
      ),
    ).toEqual([line, line]);
  });

  test('take memory only as they grow, however large the limit is', () => {
    const reader = new LineReader({ line: () => {}, invalidUtf8: () => {}, tooLong: () => {} }, 2 ** 28);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 100; n += 1) reader.push(Buffer.alloc(100, 'x'));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
  });

  test('stay unchanged when the buffer of their chunk is overwritten', () => {
    const found: string[] = [];
    const reader = new LineReader({ line: (text) => found.push(text), invalidUtf8: () => {}, tooLong: () => {} }, 1000);
    const chunk = Buffer.from('one\ntw');
    reader.push(chunk);
    chunk.fill('o\n');
    reader.push(chunk);
    expect(found.slice(0, 2)).toEqual(['one', 'two']);
  });
});

test('says whether bytes end an unfinished line that is longer than a size', () => {
  const reader = new LineReader({ line: () => {}, invalidUtf8: () => {}, tooLong: () => {} }, 1000);
  const ends = (size: number, text: string): boolean => reader.endsLonger(size, Buffer.from(text));
  reader.push(Buffer.from('12345'));
  expect([ends(4, 'x\nx'), ends(4, 'x'), ends(5, '\n')]).toEqual([true, false, false]);
  reader.push(Buffer.from('\n'));
  expect(ends(4, '123456\n')).toBe(false);
});
