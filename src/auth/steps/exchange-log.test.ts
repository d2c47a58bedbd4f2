import { expect, test } from 'vitest';
import { objectIn, type Reply } from './exchange-log.ts';

const reply = (body: string): Reply => ({ status: 200, headers: {}, body });

test('only a JSON object is one', () => {
  expect(objectIn(reply('{"a":1}'))).toEqual({ a: 1 });
  for (const body of ['', '[]', '1', '{', 'null']) expect(objectIn(reply(body)), body).toBeUndefined();
  expect(objectIn(undefined)).toBeUndefined();
});

test('a body with very many values counts as no JSON', () => {
  expect(objectIn(reply(`{"a":[${'[],'.repeat(60_000)}[]]}`))).toBeUndefined();
});

test('a body that is not complete yet is read again', () => {
  const growing = reply('{"a":');
  expect(objectIn(growing)).toBeUndefined();
  growing.body += '1}';
  expect(objectIn(growing)).toEqual({ a: 1 });
  expect(objectIn(growing)).toBe(objectIn(growing));
});
