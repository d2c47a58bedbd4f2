import { isIPv6, type LookupFunction } from 'node:net';
import { expect, test } from 'vitest';
import { rawServer } from '../../../../test/support/http-server.ts';
import { pooledHttp } from './pooled-http.ts';

// As macOS and Windows resolve it. Node tries one address after the other, so it wants all.
const lookup: LookupFunction = (_, { all }, callback) => {
  const found = ['::1', '127.0.0.1'].map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  if (all) callback(null, found);
  else callback(null, found[0]!.address, found[0]!.family);
};

test('localhost may mean ::1 first, where nobody listens', async () => {
  const url = await rawServer((socket) => {
    socket.on('data', () => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
  });
  url.hostname = 'localhost';
  const reply = await pooledHttp({ lookup })({ method: 'GET', url, headers: {} });
  expect(await reply.text(1024)).toBe('{}');
});
