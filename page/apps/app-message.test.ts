import { expect, test } from 'vitest';
import { readMessage } from './app-message.ts';

const notification = (params: object): string => JSON.stringify({ jsonrpc: '2.0', method: 'x', params });

test.each([
  ['many brackets', '{'.repeat(1_000_000)],
  ['a table', '1,'.repeat(1_000_000)],
  ['JSON', JSON.stringify(Array.from({ length: 50_000 }, (_, n) => ({ n })))],
])('a text may contain %s', (_, text) => {
  expect(readMessage(notification({ text }))).toMatchObject({ method: 'x', params: { text } });
});

test.each([
  ['objects', '{},'],
  ['lists', '[],'],
  ['numbers', '1,'],
  ['keys', '"k":1,'],
])('a message of very many %s is too large, and is not parsed', (_, part) => {
  const values = part.repeat(Math.floor(4_000_000 / part.length)).slice(0, -1);
  const whole = part.startsWith('"') ? `{${values}}` : `[${values}]`;
  // It would not be JSON, so it is not parsed.
  expect(readMessage(`${whole}}`)).toBe('large');
});
