import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compactJson, parseJson } from './json-text.ts';

test('JSON on one line is the same JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2, '\t'), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      expect(compactJson(text)).toBe(JSON.stringify(JSON.parse(json)));
      expect(parseJson(` ${text}\n`).source).toBe(text);
    }),
  );
});

test('only blanks between tokens are removed', () => {
  expect(compactJson(' { "a\\u0041 b" : [ 1.0 , -0e5 , "\\\\" , "\\" " ] ,\r\n"a\\u0041 b":\tnull } ')).toBe(
    '{"a\\u0041 b":[1.0,-0e5,"\\\\","\\" "],"a\\u0041 b":null}',
  );
});

test.each([
  ['', 'line 1, column 1: a JSON value is missing'],
  ['{"a":1,}', 'line 1, column 8: a name in double quotes is missing'],
  ['[1,]', 'line 1, column 4: a JSON value is missing'],
  ['{"a" 1}', 'line 1, column 6: a colon is missing'],
  ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: a comma or } is missing'],
  ['[1 2]', 'line 1, column 4: a comma or ] is missing'],
  ['["a', 'line 1, column 2: the closing quote is missing'],
  ['"a\nb"', 'line 1, column 3: line breaks and control characters must be escaped: \\n'],
  ['"\\x"', 'line 1, column 2: there is no such escape'],
  ['01', 'line 1, column 2: the JSON value ends before this'],
  ["{'a':1}", 'line 1, column 2: a name in double quotes is missing'],
  ['nul', 'line 1, column 1: a JSON value is missing'],
  ['\u00a01', 'line 1, column 1: a JSON value is missing'],
])('%j is not JSON: %s', (text, reason) => {
  expect(() => compactJson(text)).toThrow(reason);
});

test('the texts that are JSON are those of JSON.parse', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '\\',
    '1',
    '-',
    '.',
    'e',
    '0',
    'true',
    ' ',
    '\n',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('');
      expect(accepts(() => parseJson(text))).toBe(accepts(() => JSON.parse(text)));
    }),
    { numRuns: 2_000 },
  );
});

test('JSON that is nested too deeply for fields can still be sent', () => {
  const text = '['.repeat(10_000) + ']'.repeat(10_000);
  expect(compactJson(text)).toBe(text);
  expect(() => parseJson(text)).toThrow('the JSON is nested deeper than 500 levels');
});

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
