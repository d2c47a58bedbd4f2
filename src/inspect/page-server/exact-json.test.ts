import { expect, test } from 'vitest';
import { exactObject } from './exact-json.ts';

const parseParams = (text: string) => exactObject(text, 'parameters');

test('parameters are a JSON object', () => {
  expect(parseParams('{"name":"add","arguments":{"a":[1,"2",null]}}')).toEqual({
    name: 'add',
    arguments: { a: [1, '2', null] },
  });
  for (const text of ['', '[]', 'null', '1', '"x"']) expect(() => parseParams(text), text).toThrow(/JSON/);
  expect(() => parseParams('{"a":1,}')).toThrow(/^The parameters must be JSON: /);
});

test.each(['0', '-0', '1.0', '1e2', '100', '0.1', '1.50', '-2.5E-3', '9007199254740992', '1e308', '0e5', '5e-324'])(
  'the number %s keeps its value, so it is sent',
  (number) => {
    expect(parseParams(`{"n":${number}}`)).toEqual({ n: Number(number) });
  },
);

test.each([
  ['9007199254740993', '9007199254740992'],
  ['0.10000000000000000001', '0.1'],
  ['12345678901234567890', '12345678901234567000'],
  ['1e400', 'null'],
  ['-1e400', 'null'],
  ['1e-400', '0'],
])('the number %s would be sent as %s, so it is refused', (number, sent) => {
  for (const text of [`{"n":${number}}`, `{"a":"1","list":[1,{"n":${number}}]}`])
    expect(() => parseParams(text)).toThrow(`The number ${number} would be sent as ${sent}.`);
});

test('digits in strings and names are no numbers', () => {
  const text = '{"9007199254740993":"9007199254740993","a\\"b":"\\\\","c":"\\"1e400"}';
  expect(parseParams(text)).toEqual(JSON.parse(text));
});

test.each(['x', '\\"', '1'])('a string of millions of %s is no problem', (part) => {
  const text = `{"a":"${part.repeat(2 ** 23)}","n":1}`;
  expect(parseParams(text)).toEqual(JSON.parse(text));
});

test('more keys and values than a message may have are refused', () => {
  const list = (length: number): string => `{"list":[${'1,'.repeat(length - 4)}1]}`;
  expect(parseParams(list(200_000)).list).toHaveLength(199_997);
  expect(() => parseParams(list(200_001))).toThrow('The parameters must not have more than 200000 keys and values.');
});

test('a number of more than 1,000 characters is refused', () => {
  expect(() => parseParams(`{"n":1${'0'.repeat(500_000)}1}`)).toThrow(
    'A number must not have more than 1000 characters.',
  );
});
