import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { withoutSecret } from './redact.ts';

const SECRET = 'sec/ret+token==';

test('an error and its causes are reduced to their messages', () => {
  const config = { headers: { authorization: `Bearer ${SECRET}` } };
  const cause = Object.assign(new Error(`refused for ${SECRET}`), { config });
  function introspect(): TypeError {
    return new TypeError(`POST /introspect?token=${SECRET} failed`, { cause });
  }
  const error = withoutSecret(Object.assign(introspect(), { config }), SECRET);
  expect(error.message).toBe(
    'The credential cannot be checked: POST /introspect?token=[redacted] failed: refused for [redacted]',
  );
  expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(SECRET);
  expect(error.stack).toMatch(/^TypeError: POST .*\[redacted\] failed\n +at introspect /);
});

test('an error may have no message and no stack', () => {
  const error = withoutSecret(Object.assign(new TypeError(), { stack: undefined }), SECRET);
  expect(error.message).toBe('The credential cannot be checked: TypeError');
  expect(error.stack).toContain('redact.test.ts');
});

test.each([
  [`no ${SECRET}`, 'no [redacted]'],
  [{ token: SECRET }, 'a value that is not an error was thrown'],
  [undefined, 'a value that is not an error was thrown'],
])('the thrown value may not be an error: %j', (thrown, problem) => {
  const error = withoutSecret(thrown, SECRET);
  expect(error.message).toBe(`The credential cannot be checked: ${problem}`);
});

test('circular causes are followed only once', () => {
  const error = new Error('round');
  error.cause = error;
  expect(withoutSecret(error, SECRET).message).toContain('round: round');
});
