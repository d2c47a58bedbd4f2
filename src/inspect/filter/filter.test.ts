import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { importsOf } from '../../../scripts/imports.ts';
import { complete } from './complete.ts';
import { FilterError, parseFilter } from './parse.ts';
import { recordSubject, spanSubject, type FilterSubject } from './subject.ts';
import { Spans } from '../spans/spans.ts';

const call: FilterSubject = {
  layer: 'message',
  conn: 2,
  side: 'client',
  dir: 'c>s',
  kind: 'request',
  id: 7,
  method: 'tools/call',
  tool: 'search',
  state: 'done',
  size: 20_480,
  dur: 750_000,
  findings: [
    { rule: 'result-object', severity: 'error' },
    { rule: 'schema-request', severity: 'advice' },
  ],
  text: () => '{"id":7,"method":"tools/call","params":{"name":"search","list":[1,{"a.b":null}],"t":"Ünit \\u0041"}}',
};
const head: FilterSubject = {
  layer: 'head',
  conn: 1,
  dir: 's>c',
  size: 90,
  text: () => 'POST /mcp HTTP/1.1\r\nMcp-Name: search\r\nhost:  localhost \r\nEmpty:\r\n\r\nNot-A: header',
};
const gap: FilterSubject = { layer: 'gap' };
const ROWS = { call, head, gap };

/** The names of the rows that a filter shows. */
function shown(filter: string): string {
  const matches = parseFilter(filter);
  return Object.entries(ROWS)
    .filter(([, row]) => matches(row))
    .map(([name]) => name)
    .join(' ');
}

/** The mistake in a filter. Any other error is thrown. */
function mistakeIn(filter: string): FilterError | undefined {
  try {
    parseFilter(filter)(call);
    return undefined;
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
}

describe('a filter shows', () => {
  test.each([
    ['', 'call head gap'],
    ['   ', 'call head gap'],
    ['method:tools/call', 'call'],
    ['side:client', 'call'],
    ['side:server', ''],
    ['lint:error', 'call'],
    ['lint:Advice', 'call'],
    ['lint:warning', ''],
    ['-lint:error', 'head gap'],
    ['rule:schema-*', 'call'],
    ['rule:schema', ''],
    ['method:TOOLS/*', 'call'],
    ['method:*/call', 'call'],
    ['method:t*l*/c*l', 'call'],
    ['method:tools', ''],
    ['method:"tools/*"', ''],
    ['method:*', 'call'],
    ['tool:search', 'call'],
    ['tool:"search"', 'call'],
    ['tool:se"ar"ch', 'call'],
    ['id:7', 'call'],
    ['id:70', ''],
    ['conn:1', 'head'],
    ['kind:request', 'call'],
    ['state:done', 'call'],
    ['dur>500ms', 'call'],
    ['dur>0.75s', ''],
    ['dur>=0.75s', 'call'],
    ['dur<1m', 'call'],
    ['dur<=750000us', 'call'],
    ['size>10k', 'call'],
    ['size<=90', 'head'],
    ['size>1m', ''],
    ['dir:s>c', 'head'],
    ['dir:c>s', 'call'],
    ['layer:gap', 'gap'],
    ['Layer:GAP', 'gap'],
    ['-layer:gap', 'call head'],
    ['header:mcp-name', 'head'],
    ['header:mcp-*', 'head'],
    ['header:mcp-name=search', 'head'],
    ['header:host=localhost', 'head'],
    ['header:host=local', ''],
    ['header:empty=', 'head'],
    ['header:not-a', ''],
    ['header:post', ''],
    ['body:$.params.name=search', 'call'],
    ['body:$.params.name=SE*', 'call'],
    ['body:$.params.name', 'call'],
    ['body:$["params"]["name"]=search', 'call'],
    ['body:$.id=7', 'call'],
    ['body:$.id="7"', 'call'],
    ['body:$.params.list[0]=1', 'call'],
    ['body:$.params.list[*]["a.b"]=null', 'call'],
    ['body:$.params.*=search', 'call'],
    ['body:$.params.t="ünit A"', 'call'],
    ['body:$.params.list=1', ''],
    ['body:$.params.nothing', ''],
    ['body:$.constructor', ''],
    ['search', 'call head'],
    ['SEARCH', 'call head'],
    ['"mcp http"', 'head'],
    ['ünit', 'call'],
    ['a*b', ''],
    ['"\\"name\\":"', 'call'],
    ['search -layer:head', 'call'],
    ['search and layer:head', 'head'],
    ['layer:gap or layer:head', 'head gap'],
    ['layer:gap OR layer:head conn:2', 'gap'],
    ['(layer:gap or layer:head) -conn:1', 'gap'],
    ['-(layer:gap or layer:head)', 'call'],
    ['--layer:gap', 'gap'],
    ['((layer:gap))', 'gap'],
    ['"or"', ''],
    ['"layer:gap"', ''],
  ])('for %j the rows %j', (filter, rows) => {
    expect(shown(filter)).toBe(rows);
  });
});

describe('a mistake is shown with its place', () => {
  test.each([
    ['metod:x', 0, 5, 'There is no key "metod" (did you mean "method"?). To search for text, put it in quotes'],
    ['x http://a', 2, 6, 'There is no key "http". To search for text, put it in quotes'],
    ['x method:', 2, 9, 'Write a value after "method:", as in method:tools/call'],
    ['method>1', 6, 7, '"method" needs ":", as in method:tools/call'],
    ['dur:1s', 3, 4, '"dur" needs ">", ">=", "<" or "<=", as in dur>500ms'],
    ['-dur>500', 5, 8, 'Write a time with a unit (us, ms, s, m), as in dur>500ms'],
    ['size>ten', 5, 8, 'Write a size in bytes, or with a unit (k, m, g), as in size>10k'],
    ['dir:up', 4, 6, '"dir" is one of c>s, s>c, stderr'],
    [
      'layer:frames',
      6,
      12,
      '"layer" is one of open, close, bytes, head, chunk, body, frame, line, stderr, message, gap (did you mean "frame"?)',
    ],
    ['body:name', 5, 9, 'Begin the path with "$", as in body:$.params.name=x'],
    ['body:$name', 6, 7, 'Write ".name", "[0]" or "[*]" here'],
    ['body:$.=x', 7, 8, 'Write a name after "."'],
    ['body:$[1', 6, 8, 'This "[" has no "]"'],
    ['body:$[x]', 7, 8, 'Write a number, "*" or a name in quotes in "[ ]"'],
    ['a "b', 2, 4, 'This quote does not end'],
    ['(a', 0, 1, 'This "(" has no ")"'],
    ['a )', 2, 3, 'This ")" has no "("'],
    ['()', 0, 2, 'Write something between "(" and ")"'],
    ['a or', 2, 4, 'Write something after "or"'],
    ['or a', 0, 2, 'Write something before "or"'],
    ['(a or) b', 3, 5, 'Write something after "or"'],
    ['a or or b', 2, 4, 'Write something after "or"'],
    ['and a', 0, 3, 'Write something before "and"'],
    ['a and', 2, 5, 'Write something after "and"'],
    ['a - b', 2, 3, 'Write a term directly after "-"'],
    ['-or a', 0, 1, 'Write a term directly after "-"'],
    ['""', 0, 2, 'Write something between the quotes'],
    ['x'.repeat(2001), 2000, 2001, 'A filter has at most 2000 characters'],
    ['('.repeat(51), 50, 51, 'A filter has at most 50 levels'],
    ['-'.repeat(51) + 'a', 50, 51, 'A filter has at most 50 levels'],
  ])('%j', (filter, start, end, message) => {
    expect(mistakeIn(filter)).toMatchObject({ message, start, end });
  });
});

describe('completion', () => {
  const known = { method: ['tools/call', 'tools/list', 'ping'], tool: ['my tool', 'say "hi"'], header: ['mcp-name'] };
  test.each([
    ['me|', 'method:'],
    ['x -d|', 'dur> dir:'],
    ['(k|', 'kind:'],
    ['k|ind:x', 'kind:'],
    ['method:tools|', 'method:tools/call | method:tools/list'],
    ['method:CALL|', 'method:tools/call'],
    ['-tool:|', 'tool:"my tool" | tool:"say \\"hi\\""'],
    ['tool:"my|', 'tool:"my tool"'],
    ['dir:|', 'dir:c>s | dir:s>c | dir:stderr'],
    ['layer:f|', 'layer:frame'],
    ['header:m|', 'header:mcp-name'],
    ['header:mcp-name=|', ''],
    ['dur>|', 'dur>500ms'],
    ['method:ping|', ''],
    ['zzz|', ''],
    ['"me|', ''],
    ['a or|', ''],
  ])('%s', (text, suggestions) => {
    const position = text.indexOf('|');
    const filter = text.replace('|', '');
    const all = complete(filter, position, known);
    const separator = suggestions.includes(' | ') ? ' | ' : suggestions.includes('"') ? '\n' : ' ';
    expect(all.suggestions).toEqual(suggestions === '' ? [] : suggestions.split(separator));
  });

  test('an empty word can become any key', () => {
    expect(complete('a ', 2, {})).toEqual({
      start: 2,
      end: 2,
      suggestions: [
        'method:',
        'tool:',
        'dur>',
        'size>',
        'dir:',
        'layer:',
        'kind:',
        'state:',
        'header:',
        'lint:',
        'rule:',
        'body:$.',
        'conn:',
        'side:',
        'id:',
      ],
    });
  });

  test('a suggestion replaces the word without its minus sign', () => {
    expect(complete('a (-layer:fr b', 12, {})).toEqual({ start: 4, end: 12, suggestions: ['layer:frame'] });
  });

  test('the suggestions are limited, and those of a filter that is too long are none', () => {
    const method = Array.from({ length: 100_000 }, (_, n) => `m${n}`);
    expect(complete('method:m', 8, { method }).suggestions).toHaveLength(20);
    expect(complete('x'.repeat(3000), 3000, {}).suggestions).toEqual([]);
  });

  test('each suggestion can be parsed', () => {
    for (const filter of ['tool:', 'method:', 'layer:', 'dir:', 'header:', 'dur>', 'size>'])
      for (const text of complete(filter, filter.length, known).suggestions) parseFilter(text);
  });
});

describe('a filter is bounded', () => {
  test('it reads no text that it does not need', () => {
    let read = 0;
    const row: FilterSubject = { layer: 'bytes', text: () => ((read += 1), 'a') };
    for (const filter of ['method:a a', 'layer:head a', 'header:a', 'body:$.a', 'layer:bytes or a'])
      parseFilter(filter)(row);
    expect(read).toBe(0);
  });

  test('text that is no JSON, or deep, or absent, matches no path', () => {
    const matches = parseFilter('body:$.a');
    for (const text of ['{"a":', '', 'null', '[1]', '"a"', '['.repeat(100_000), undefined])
      expect(matches({ layer: 'message', text: () => text })).toBe(false);
    expect(matches({ layer: 'message' })).toBe(false);
  });

  test('many wildcards do not take exponential time', () => {
    const method = 'a'.repeat(100_000);
    expect(parseFilter(`method:${'a*'.repeat(900)}b`)({ layer: 'message', method })).toBe(false);
    const text = `{"x":${'[['.repeat(200) + '1' + ']]'.repeat(200)}}`;
    expect(parseFilter(`body:$.x${'[*]'.repeat(400)}=1`)({ layer: 'message', text: () => text })).toBe(true);
  });

  test('a path with many wildcards visits a limited number of values', () => {
    const wide = JSON.stringify(Array.from({ length: 1000 }, () => Array.from({ length: 200 }, () => 0)));
    expect(parseFilter('body:$[*][*]=1')({ layer: 'message', text: () => wide })).toBe(false);
  });

  test('random filters end with a predicate or a FilterError', () => {
    const pieces = [
      'method:',
      'a',
      '"',
      '(',
      ')',
      '-',
      ' or ',
      ' ',
      'body:$',
      '[',
      ']',
      '*',
      '.',
      '=',
      'dur>1s',
      '\\',
      '🙂',
      '\0',
    ];
    let seed = 1;
    const random = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n;
    for (let run = 0; run < 20_000; run += 1) {
      const filter = Array.from({ length: random(12) }, () => pieces[random(pieces.length)]).join('');
      const mistake = mistakeIn(filter);
      const place = mistake && [mistake.start >= 0, mistake.start < mistake.end, mistake.end <= filter.length];
      expect(place ?? [], filter).not.toContain(false);
      complete(filter, random(filter.length + 1), {});
    }
  });
});

test('records and spans of a capture can be filtered', () => {
  const spans = new Spans();
  const one = { conn: 1, layer: 'message', id: 1 };
  const request = { ...one, n: 1, t: 0, dir: 'c>s', kind: 'request', method: 'tools/call', range: [0, 10, 15, 25] };
  const answer = { ...one, n: 2, t: 600_000, dir: 's>c', kind: 'result', range: [0, 5] };
  const texts = ['{"id":1,"method":"tools/call","params":{"name":"search"}}', '{"id":1,"result":{"found":2}}'];
  const subjects = [request, answer].map((record, at) => {
    const text = (): string => texts[at]!;
    const [span] = spans.add(record, text);
    return () => recordSubject(record, span, text);
  });
  const [span] = spans.all();
  const matches = (filter: string): boolean[] =>
    [...subjects.map((subject) => subject()), spanSubject(span!)].map((subject) => parseFilter(filter)(subject));
  expect(matches('method:tools/call tool:search dur>500ms state:done')).toEqual([true, true, true]);
  expect(matches('size>=20 size<21')).toEqual([true, false, false]);
  expect(matches('dir:s>c body:$.result.found=2')).toEqual([false, true, false]);
  expect(matches('layer:message kind:request conn:1')).toEqual([true, false, false]);
  const lone = recordSubject({ n: 1, t: 0, layer: 'gap' }, undefined, () => undefined);
  expect(parseFilter('layer:gap -dur<1s -size<1k -method:*')(lone)).toBe(true);
  expect(parseFilter('dur<1s')(spanSubject({ ...span!, end: undefined }))).toBe(false);
});

test('the text and the findings of a batch are tested once, although it has many messages', () => {
  const text = vi.fn<() => string>(() => JSON.stringify([1, 2, 3].map((id) => ({ id, method: 'ping' }))));
  const batch = { n: 1, t: 0, conn: 1, layer: 'message', dir: 'c>s', kind: 'batch' };
  const spans = new Spans().add(batch, text);
  const findings = [{ rule: 'a', severity: 'warning' }];
  const readFindings = vi.spyOn(findings, 'map');
  const matches = (filter: string): readonly boolean[] => {
    const predicate = parseFilter(filter);
    const more = { findings, tested: new Map<object, boolean>() };
    return spans.map((span) => predicate(recordSubject(batch, span, text, more)));
  };
  text.mockClear();
  expect(matches('"id" id:2')).toEqual([false, true, false]);
  expect(matches('body:$.id=2 or ping')).toEqual([true, true, true]);
  expect(text).toHaveBeenCalledTimes(3);
  expect(matches('lint:warning -rule:b')).toEqual([true, true, true]);
  expect(readFindings).toHaveBeenCalledTimes(2);
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
  for (const file of ['parse.ts', 'complete.ts', 'subject.ts']) visit(path.join(import.meta.dirname, file));
});
