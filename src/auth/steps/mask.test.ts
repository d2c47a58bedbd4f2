import { expect, test } from 'vitest';
import type { Exchange } from './exchange-log.ts';
import { maskedExchange } from './mask.ts';

const SECRET = 'planted-secret';

function masked(url: string, location: string, body = ''): string {
  const exchange: Exchange = {
    ...{ sender: 'browser', method: 'GET', url, headers: {}, duration: 1 },
    reply: { status: 302, headers: { location }, body },
  };
  return JSON.stringify(maskedExchange(exchange, []));
}

test.each([
  `https://issuer.example/?code=${SECRET}`,
  `https://issuer.example/#access_token=${SECRET}&state=1`,
  `https://issuer.example/?code=${SECRET}&pad=${'a'.repeat(70_000)}`,
  `/relative?code=${SECRET}`,
  `//${'é'.repeat(1000)}/#access_token=${SECRET}`,
])('the secrets of %.60s are masked', (url) => {
  expect(masked(url, 'https://issuer.example/')).not.toContain(SECRET);
  expect(masked('https://issuer.example/', url)).not.toContain(SECRET);
});

test('what is no secret stays', () => {
  expect(masked('https://issuer.example/a?scope=read#top', '/b')).toContain('https://issuer.example/a?scope=read#top');
});

test('a body is not indented to a thousand times its size', () => {
  const nested = (depth: number): string => '['.repeat(depth) + '1,'.repeat(1000) + `1${']'.repeat(depth)}`;
  const shown = (body: string): string => masked('https://issuer.example/', '/', body);
  expect(shown(nested(51))).toContain(`"body":"(${nested(51).length} characters)"`);
  expect(shown(nested(50))).toContain('1,\\n');
});
