import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonProblem, parseConfigJson } from './json.ts';

/** What a parser makes of a text, where it throws nothing but what it should. */
function outcome(parse: () => unknown, refusal: new (...args: never[]) => Error): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    if (error instanceof refusal) return 'refused';
    throw error;
  }
}

describe('JSON as configuration files have it', () => {
  test('is read as any JSON is', () => {
    fc.assert(
      fc.property(fc.json(), fc.boolean(), (text, mark) => {
        expect(parseConfigJson((mark ? '\uFEFF' : '') + text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test('is read or refused as JSON.parse does, where there is neither a comment nor a last comma', () => {
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
      '\n',
      '\\',
      'a',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        fc.pre(!/,\s*[\]}]/.test(text));
        const expected = outcome(() => JSON.parse(text), SyntaxError);
        const found = outcome(() => parseConfigJson(text), JsonProblem);
        expect(found).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test('may have comments and commas behind the last entry', () => {
    const text = `// first
    { /* a
      comment */ "a": [1, 2, /* none */], // "b": 3
      "url": "https://example.com/*not-a-comment*/", }
    // last`;
    expect(parseConfigJson(text)).toEqual({ a: [1, 2], url: 'https://example.com/*not-a-comment*/' });
  });

  test('does not change what objects are', () => {
    const parsed = parseConfigJson('{"__proto__": {"admin": true}}') as object;
    expect(Object.keys(parsed)).toEqual(['__proto__']);
    expect((parsed as { admin?: boolean }).admin).toBeUndefined();
  });

  test.each([
    ['', 'line 1, column 1: it ends too early'],
    ['{\n  "token": hunter2 }', 'line 2, column 12: a value is expected'],
    ['{"a" 1}', 'line 1, column 6: a colon is expected'],
    ['{a: 1}', 'line 1, column 2: a key in double quotes is expected'],
    ['[1 2]', 'line 1, column 4: a comma or ] is expected'],
    ['{"a": [1,', 'line 1, column 10: it ends too early'],
    ['{} {}', 'line 1, column 4: there is something behind the end'],
    ['"C:\\dir"', 'line 1, column 1: a text has a wrong escape in it; a backslash is written \\\\'],
    ['"two\nlines"', 'line 1, column 5: a text does not end'],
    ['{} /* and so on', 'line 1, column 4: a comment does not end'],
    ['['.repeat(5000), 'line 1, column 102: it is nested deeper than 100 levels'],
  ])('%j is refused by its place alone', (text, message) => {
    expect(() => parseConfigJson(text)).toThrow(JsonProblem);
    expect(() => parseConfigJson(text)).toThrow(expect.objectContaining({ message }));
  });
});
