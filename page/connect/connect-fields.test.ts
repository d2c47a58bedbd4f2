import { expect, test } from 'vitest';
import { connectCommand, isSecret, type ConnectFields } from './connect-fields.ts';

const fields = (part: Partial<ConnectFields>): ConnectFields => {
  return { url: 'https://example.com/mcp', headers: [], revision: '', transport: '', ...part };
};

test('what is auto is left out', () => {
  expect(connectCommand(fields({ url: ' https://example.com/mcp ' }))).toEqual({
    command: { url: 'https://example.com/mcp' },
  });
  const all = fields({ revision: '2025-06-18', transport: 'sse', headers: [{ name: 'X-A', value: ' 1 ' }] });
  expect(connectCommand(all)).toEqual({
    command: { url: 'https://example.com/mcp', revision: '2025-06-18', transport: 'sse', headers: { 'X-A': '1' } },
  });
});

test.each([
  [fields({ url: '' }), 'begins with http'],
  [fields({ url: 'ftp://example.com' }), 'begins with http'],
  [fields({ url: 'http://exa mple' }), 'not a valid URL'],
  [fields({ headers: [{ name: '', value: 'x' }] }), 'a name'],
  [fields({ headers: [{ name: 'X A', value: 'x' }] }), 'not a valid header name'],
  [fields({ headers: [{ name: 'X', value: 'a\nb' }] }), 'line break'],
  [
    fields({
      headers: [
        { name: 'X', value: '1' },
        { name: 'x', value: '2' },
      ],
    }),
    'Remove one of the two',
  ],
])('%j is refused', (given, message) => {
  expect(connectCommand(given)).toMatchObject({ problem: { message: expect.stringMatching(message) as unknown } });
});

test('only values of well-known harmless headers are not masked', () => {
  expect(['Authorization', 'X-Api-Key', 'Cookie', 'My-Header'].every(isSecret)).toBe(true);
  expect(['Accept', 'user-agent', ''].some(isSecret)).toBe(false);
});
