import { expect, test } from 'vitest';
import { maskedHead } from './masked-head.ts';

const M = '••••••••';

test.each([
  ['POST /mcp?key=a&b=c&token=d HTTP/1.1\r\n', `POST /mcp?key=${M}&b=c&token=${M} HTTP/1.1\r\n`],
  ['authorization: Bearer abc\r\nAccept: */*\r\n', `authorization: ${M}\r\nAccept: */*\r\n`],
  ['X-Api-Key:abc\n def\nHost: a:1\n\n', `X-Api-Key:${M}\n ${M}\nHost: a:1\n\n`],
  [
    'HTTP/1.1 302 token: no secret\r\nLocation: /cb?code=a\r\n',
    `HTTP/1.1 302 token: no secret\r\nLocation: /cb?code=${M}\r\n`,
  ],
  ['Set-Cookie : a=b\r\nSet-Cookie:\r\n', `Set-Cookie : ${M}\r\nSet-Cookie:\r\n`],
])('%j is shown as %j', (head, shown) => {
  expect(maskedHead(head)).toBe(shown);
});
