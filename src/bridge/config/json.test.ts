import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigJson, JsonError } from './json.ts';

const parse = (text: string): unknown => new ConfigJson(text).value;

/** The outcome of a parser for a text. Throws if the parser throws an unexpected error. */
function outcome(read: () => unknown, refusal: new (...args: never[]) => Error): unknown {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof refusal) return 'refused';
    throw error;
  }
}

describe('JSON in configuration files', () => {
  test('is parsed like any JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.boolean(), (text, mark) => {
        expect(parse((mark ? '\uFEFF' : '') + text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test('without comments and trailing commas, is accepted or refused exactly as by JSON.parse', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '1',
      '-',
      '.5',
      'e3',
      'true',
      'nul',
      ' ',
      '\\',
      'a',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        fc.pre(!/,\s*[\]}]/.test(text));
        const expected = outcome(() => JSON.parse(text), SyntaxError);
        const found = outcome(() => parse(text), JsonError);
        expect(found).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test('may have comments and trailing commas', () => {
    const text = `// first
    { /* a
      comment */ "a": [1, 2, /* none */], // "b": 3
      "url": "https://example.com/*not-a-comment*/", }
    // last`;
    expect(parse(text)).toEqual({ a: [1, 2], url: 'https://example.com/*not-a-comment*/' });
  });

  test('gives objects with the usual prototype', () => {
    const parsed = parse('{"__proto__": {"admin": true}}') as object;
    expect(Object.keys(parsed)).toEqual(['__proto__']);
    expect((parsed as { admin?: boolean }).admin).toBeUndefined();
  });

  test('gives the position of a key or an item', () => {
    const json = new ConfigJson('\uFEFF{\n  "a": [1, 2], // none\n  "b.c": { "d": 3 }\n}');
    expect(json.position(['a'])).toBe('line 2, column 3');
    expect(json.position(['a', 1])).toBe('line 2, column 12');
    expect(json.position(['b.c', 'd'])).toBe('line 3, column 12');
    expect(json.position(['b.c', 'missing', 'below'])).toBe('line 3, column 3');
    expect(json.position(['missing'])).toBe('line 1, column 1');
  });

  test.each([
    ['', 'this is not valid JSON: the file ends too early'],
    ['{\n  "token": hunter2 }', 'line 2, column 12: this is not valid JSON'],
    ['{"a": }', 'line 1, column 7: this is not valid JSON'],
    ['{"a" 1}', 'line 1, column 6: this is not valid JSON'],
    ['{a: 1}', 'line 1, column 2: this is not valid JSON'],
    ['{"a": 1,, }', 'line 1, column 9: this is not valid JSON'],
    ['[1 2]', 'line 1, column 4: this is not valid JSON'],
    ['{"a": [1}', 'line 1, column 9: this is not valid JSON'],
    ['{"a": 1.}', 'line 1, column 9: this is not valid JSON'],
    ['{"a": [1,', 'line 1, column 9: this is not valid JSON'],
    ['{} {}', 'line 1, column 4: this is not valid JSON'],
    ['"C:\\dir"', 'line 1, column 4: this is not valid JSON'],
    ['"not closed', 'this is not valid JSON: the file ends too early'],
    ['{} /* and so on', 'this is not valid JSON: the file ends too early'],
    ['['.repeat(100_000), 'this JSON is nested too deeply'],
  ])('%j is refused with its position, and its text is not in the error', (text, message) => {
    expect(() => parse(text)).toThrow(JsonError);
    expect(() => parse(text)).toThrow(expect.objectContaining({ message }));
  });

  describe('with more than 500,000 keys and values', () => {
    const tooMany = 'this JSON has more than 500000 keys and values';
    const list = (length: number): string => `[${'1,'.repeat(length - 2)}1]`;

    test.each([
      ['', ''],
      ['after a quote in a comment', '/* " */'],
      ['after a quote in a line of comment', '// "\n'],
      ['after a line of comment that a carriage return ends', '// "\r'],
      ['after an escaped quote', '["\\"",'],
    ])('is refused without being parsed %s', (_, before) => {
      expect(() => parse(before + list(500_001))).toThrow(expect.objectContaining({ message: tooMany }));
    });

    test('is not one with less, whatever its strings and comments contain', () => {
      const text = ',:[{'.repeat(200_000);
      expect(parse(`["${text}" /*${text}*/] //${text}`)).toEqual([text]);
    });
  });
});
