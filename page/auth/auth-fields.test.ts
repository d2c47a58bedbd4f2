import { expect, test } from 'vitest';
import { authCommand, changedParameters, EMPTY } from './auth-fields.ts';

test('fields that are empty are left out', () => {
  expect(authCommand({ ...EMPTY, url: ' https://example.com/mcp ', scope: ' ' })).toEqual({
    command: { url: 'https://example.com/mcp', revision: '2026-07-28' },
  });
  expect(authCommand({ ...EMPTY, choice: 'a', url: 'x', clientId: 'c', tool: 't', args: '{}' })).toEqual({
    command: { choice: 'a', revision: '2026-07-28', clientId: 'c', tool: 't', args: '{}' },
  });
});

test('a URL needs a scheme', () => {
  expect(authCommand({ ...EMPTY, url: 'example.com' })).toEqual({ problem: expect.stringContaining('https://') });
});

test('only changed parameters are sent', () => {
  const before = { scope: 'a', state: 'b' };
  const rows = [
    { name: 'scope', value: 'a' },
    { name: 'state', value: 'b' },
  ];
  expect(changedParameters(before, rows)).toBeUndefined();
  expect(changedParameters(before, [...rows, { name: '', value: 'x' }])).toBeUndefined();
  expect(changedParameters(before, rows.slice(1))).toEqual({ state: 'b' });
  expect(changedParameters(before, [{ name: 'scope', value: 'c' }, rows[1]!])).toEqual({ scope: 'c', state: 'b' });
});
