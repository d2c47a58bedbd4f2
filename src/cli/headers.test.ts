import { expect, test } from 'vitest';
import { readHeaders } from './headers.ts';

const env = { TOKEN: 'secret' };

test('a header is written as in HTTP, and variables are filled in as in a configuration file', () => {
  const words = ['Authorization: Bearer ${env:TOKEN}', 'x-plain:a=b: c', 'X-Empty:', 'X-Short: ${TOKEN}${NONE:-!}'];
  expect(readHeaders(words, env)).toEqual({
    authorization: 'Bearer secret',
    'x-plain': 'a=b: c',
    'x-empty': '',
    'x-short': 'secret!',
  });
});

test.each([
  ['Authorization', "--header must be written 'Name: value', not name=value"],
  ['x-key=s3cret', "--header must be written 'Name: value', not name=value"],
  ['x-url=https://example.com', "--header must be written 'Name: value', not name=value"],
  ['Bad Name: s3cret', "--header must be written 'Name: value', not name=value"],
  ['x-a: s3cret\r\nx-b: y', '--header x-a contains characters that a header cannot have'],
  ['x-a: ${env:NOBODY}', '--header x-a needs the environment variable NOBODY, which is not set'],
])('%j is refused', (word, message) => {
  expect(() => readHeaders([word], env)).toThrow(expect.objectContaining({ exitCode: 2, message }));
});
