import { expect, test } from 'vitest';
import { digest, requestDigest } from './digest.ts';

test('a digest has 128 bits, and does not depend on the order of keys at any depth', () => {
  const one = digest({ a: 1, b: [{ c: 2, d: { e: 3, f: null } }] });
  expect(one).toMatch(/^[\w-]{22}$/);
  expect(digest({ b: [{ d: { f: null, e: 3 }, c: 2 }], a: 1 })).toBe(one);
});

test('values that differ have different digests', () => {
  const values = [
    [],
    [undefined],
    [[]],
    [{}],
    ['{}'],
    [''],
    [0],
    ['0'],
    [false],
    [1, 2],
    [2, 1],
    [[1, 2]],
    [[2, 1]],
    [12],
    [{ a: 1 }],
    [{ a: '1' }],
    [{ a: [1] }],
    [{ a: { 0: 1 } }],
    [{ b: 1 }],
    [{ ['__proto__']: 1 }],
    [{ ['__proto__']: 2 }],
    [{ constructor: 1 }],
    ['a', 'b'],
    ['a"', 'b'],
  ];
  const digests = values.map((value) => digest(...value));
  // JSON writes undefined as null, and null is not one of the values.
  expect(new Set(digests).size).toBe(values.length);
});

test('values that JSON does not distinguish have the same digest', () => {
  expect(digest({ a: 0 })).toBe(digest({ a: -0 }));
  expect(digest({ a: undefined })).toBe(digest({}));
});

test('a value with too many levels for JSON has no digest', () => {
  const deep: unknown = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000));
  expect(() => digest(deep)).toThrow(RangeError);
});

test('a digest of many large objects does not take long', () => {
  const objects = Array.from({ length: 99 }, (_, of) =>
    Object.fromEntries(Array.from({ length: 1000 }, (__, index) => [`${of}-${index}`, 1])),
  );
  const before = process.cpuUsage().user;
  digest(objects);
  expect(process.cpuUsage().user - before).toBeLessThan(200_000);
});

test('the digest of a request omits only what changes between rounds', () => {
  const params = { name: 'a', arguments: { x: 1 } };
  const one = requestDigest('tools/call', params);
  const round = { _meta: { progressToken: 1 }, requestState: 's', inputResponses: { a: {} } };
  expect(requestDigest('tools/call', { ...round, ...params })).toBe(one);
  expect(requestDigest('prompts/get', params)).not.toBe(one);
  expect(requestDigest('tools/call', { ...params, task: {} })).not.toBe(one);
  expect(requestDigest('tools/call', { ...params, arguments: { x: 1, requestState: 's' } })).not.toBe(one);
});
