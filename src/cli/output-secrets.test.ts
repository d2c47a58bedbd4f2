import { expect, test } from 'vitest';
import { OutputSecrets } from './output-secrets.ts';

/** The secrets of a command whose login has sent so many tokens, one after the other. */
async function afterTokens(count: number): Promise<OutputSecrets> {
  const secrets = new OutputSecrets(['the-given-secret']);
  let sent = 0;
  const authorizer = secrets.hiding({
    headers: () => Promise.resolve({ authorization: `Bearer ${token((sent += 1))}` }),
    refused: () => Promise.resolve(false),
  });
  for (let at = 0; at < count; at += 1) await authorizer.headers({ method: 'POST', url: new URL('https://a.example') });
  return secrets;
}

function token(number: number): string {
  return `token-of-a-login-${number}-`;
}

test('a report has no token that the login has had, and no given secret', async () => {
  const { clean } = await afterTokens(5);
  const text = ['the-given-secret', ...[1, 2, 3, 4, 5].map(token)].join(' ');
  expect(clean(text)).toBe(Array(6).fill('[redacted]').join(' '));
});

test('only the newest hundred tokens are kept', async () => {
  const { clean } = await afterTokens(101);
  expect(clean([1, 2, 101].map(token).join(' '))).toBe(`${token(1)} [redacted] [redacted]`);
});
