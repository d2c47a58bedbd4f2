import { expect, test, vi } from 'vitest';
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
  ['Authorization Bearer s3cret', "--header must be written 'Name: value', and it has no colon"],
  ['x-key=s3cret', "--header must be written 'Name: value', not name=value"],
  ['x-url=https://example.com', "--header must be written 'Name: value', not name=value"],
  [
    'Bad Name: s3cret',
    "--header must be written 'Name: value', and the part before the colon cannot be the name of a header",
  ],
  ['x-a: s3cret\r\nx-b: y', '--header x-a contains characters that a header cannot have'],
  [': s3cret', "--header must be written 'Name: value', and the part before the colon cannot be the name of a header"],
  ['x-a: ${env:NOBODY}', '--header x-a needs the environment variable NOBODY, which is not set'],
])('%j is refused', (word, message) => {
  expect(() => readHeaders([word], env)).toThrow(expect.objectContaining({ exitCode: 2, message }));
});

test('a variable without its end is reported without the value', () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  expect(readHeaders(['X-Key: s3cret${TOKEN'], env)).toEqual({ 'x-key': 's3cret${TOKEN' });
  expect(stderr.mock.calls).toEqual([
    ['everwire: --header X-Key has a variable that begins with "${" and has no "}": it is not filled in\n'],
  ]);
});
