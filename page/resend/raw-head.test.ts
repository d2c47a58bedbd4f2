import { expect, test } from 'vitest';
import { rawHead } from './raw-head.ts';

test('a head is offered again without what belongs to its connection, and with its secrets masked', () => {
  const head = rawHead(
    'POST /mcp HTTP/1.1\r\nhost: a\r\nAuthorization: Bearer secret\r\ncontent-length: 5\r\nConnection: keep-alive\r\nx: y\r\n\r\n',
  );
  expect(head.text).toBe('POST /mcp HTTP/1.1\nhost: a\nAuthorization: ••••••••\nx: y');
  expect(head.restore(`${head.text}\nAuthorization: other`)).toBe(
    'POST /mcp HTTP/1.1\nhost: a\nAuthorization: Bearer secret\nx: y\nAuthorization: other',
  );
});
