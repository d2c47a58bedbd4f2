import { expect, test } from 'vitest';
import { excessOf, hasMoreKeysAndValues, hasMoreUnpairedSurrogates, isDeeper, keysAndValuesIn } from './bounds.ts';

test.each(['5', 'null', '"[["', '"\\"[["'])('%s has no levels', (text) => {
  expect(isDeeper(text, 0)).toBe(false);
});

test.each<[string, number]>([
  ['[]', 1],
  ['{}', 1],
  ['[1,null,"a"]', 1],
  ['{"a":1,"b":null}', 1],
  ['[1,[2],3]', 2],
  ['{"a":1,"b":[],"c":2}', 2],
  ['[[],[{"a":{}}],[]]', 4],
  ['[[],{},[],{},["]",[]]]', 3],
  ['{"[\\"[":"\\\\","a":["{"]}', 2],
])('%s has %i levels', (text, levels) => {
  expect(isDeeper(text, levels)).toBe(false);
  expect(isDeeper(text, levels - 1)).toBe(true);
});

test.each<[string, number]>([
  ['5', 1],
  ['[1]', 2],
  ['[1,2]', 3],
  ['{"a":1}', 3],
  ['{"a":1,"b":[2,3]}', 7],
  ['{"a:b":":"}', 3],
  ['[]', 2],
  ['[{},[]]', 5],
  ['"a,b[{"', 1],
  ['["[",1]', 3],
  ['["\\"",",",1]', 4],
  ['["\\\\",1]', 3],
  ['["a\\"[\\\\",1]', 3],
  ['["a\\"\\",[[",1]', 3],
  ['"a,b', 1],
  ['"a\\",b', 1],
  ['"a\\', 1],
])('%s holds %i keys and values', (text, values) => {
  expect(hasMoreKeysAndValues(text, values)).toBe(false);
  expect(hasMoreKeysAndValues(text, values - 1)).toBe(true);
});

test('the number of keys and values matters more than the depth, wherever they are', () => {
  expect(excessOf('[[1]]', 2, 5)).toBeUndefined();
  expect(excessOf('[[1]]', 1, 5)).toBe('depth');
  expect(excessOf('[[1]]', 2, 2)).toBe('keys and values');
  expect(excessOf('[[1],2,3]', 1, 4)).toBe('keys and values');
});

test.each([
  '""',
  '"ud800 \\t\\u00d8"',
  '"\\ud83d\\ude00"',
  '"\\uD83D\\uDE00\\ud9ab\\udcab\\uB83D"',
  '"\\\\ud800"',
  '"\\ud000\\ud7ff\\ue000"',
  '"\\nd800 \\ud83d\\ude00"',
])('%s has no unpaired surrogates', (text) => {
  expect(hasMoreUnpairedSurrogates(text, 0)).toBe(false);
});

test.each<[string, number]>([
  ['"\\ud800"', 1],
  ['"\\uDFFF"', 1],
  ['"\\uD800\\uDbFf\\udc00"', 1],
  ['"\\uDFFF \\uda00 \\udfff"', 3],
  ['"\\ud83d\\ude00\\ude00"', 1],
  ['"\\ud83d\\ud83d\\ude00"', 1],
  ['"\\ud83d-\\ude00"', 2],
  ['"\\ud83d\\\\ude00"', 1],
  ['"\\\\\\ud800"', 1],
  ['"\\"\\ud800"', 1],
  ['{"\\ud800":["\\ud888","\\ud999","\\udaaa","\\udeee"]}', 5],
])('%s has %i unpaired surrogates', (text, surrogates) => {
  expect(hasMoreUnpairedSurrogates(text, surrogates)).toBe(false);
  expect(hasMoreUnpairedSurrogates(text, surrogates - 1)).toBe(true);
});

/** Whether a text has more long numbers than a limit. */
const hasMoreLongNumbers = (text: string, than: number): boolean =>
  excessOf(text, Infinity, Infinity, than) === 'numbers';

test.each([
  ...['1e30', '[1e+30,1E-99,true,false]', '"1e300"', '{"e300":"\\"1e300"}', '[1e30,300]', '[1.5e+000,1E-00012]'],
  ...['-0.12345678901234567e-99', '9'.repeat(32), `-${'9'.repeat(32)}`, '[1234,12,1e-1234'.slice(0, 12)],
  `[1${' '.repeat(40)}]`,
])('%s has no long numbers', (text) => {
  expect(hasMoreLongNumbers(text, 0)).toBe(false);
});

test.each<[string, number]>([
  ['1e300', 1],
  ['-2.5E-300', 1],
  ['[1e+100,"1e300",1e10,{"e300":1e0100}]', 2],
  ['["\\"",1e300,false,1e301,1e-302]', 3],
  ['9'.repeat(33), 1],
  [`{"a": ${'0'.repeat(60)}.5e99 , "b":-1.${'3'.repeat(40)}}`, 2],
])('%s has %i long numbers', (text, numbers) => {
  expect(hasMoreLongNumbers(text, numbers)).toBe(false);
  expect(hasMoreLongNumbers(text, numbers - 1)).toBe(true);
});

test('counts what comes after a number', () => {
  expect([isDeeper('[1,[2.5e-3,[4]]]', 2), isDeeper('[1,[2.5e-3,[4]]]', 3)]).toEqual([true, false]);
  expect(hasMoreKeysAndValues('{"a":1,"b":2e5}', 4)).toBe(true);
  expect(excessOf('[[1e300,2]]', 1, 9, 0)).toBe('numbers');
  expect(excessOf('[[1e300,2]]', 1, 9, 1)).toBe('depth');
});

test.each([
  ['5', 1],
  ['[]', 2],
  ['{}', 2],
  ['[1,2]', 3],
  ['{"a":1,"b":[]}', 6],
  [String.raw`{"a,[{:\"":"[,:{"}`, 3],
])('%s has %i keys and values', (text, count) => {
  expect(keysAndValuesIn(text)).toBe(count);
  expect(hasMoreKeysAndValues(text, count)).toBe(false);
  expect(hasMoreKeysAndValues(text, count - 1)).toBe(true);
});
