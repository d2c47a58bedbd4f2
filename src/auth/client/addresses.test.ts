import { expect, test } from 'vitest';
import { reachOf } from './addresses.ts';

test.each([
  ['127.0.0.1', 'loopback'],
  ['127.255.0.9', 'loopback'],
  ['0.0.0.0', 'loopback'],
  ['::1', 'loopback'],
  ['::', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['169.254.169.254', 'link-local'],
  ['::ffff:169.254.169.254', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['10.1.2.3', 'private'],
  ['172.31.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.1', 'private'],
  ['224.0.0.1', 'private'],
  ['255.255.255.255', 'private'],
  ['::ffff:10.0.0.1', 'private'],
  ['fd00::1', 'private'],
  ['ff02::1', 'private'],
  ['64:ff9b::a00:1', 'private'],
  ['::ffff:0:127.0.0.1', 'private'],
  ['::ffff:0:a9fe:a9fe', 'private'],
  ['2002:a00:1::', 'private'],
  ['3fff:fff::1', 'private'],
  ['5f00::1', 'private'],
  ['100:0:0:1::1', 'private'],
  ['an invalid address', 'private'],
  ['172.32.0.1', 'public'],
  ['8.8.8.8', 'public'],
  ['3fff:1000::1', 'public'],
  ['5f01::1', 'public'],
  ['2606:4700::1111', 'public'],
])('%s is %s', (address, reach) => {
  expect(reachOf(address)).toBe(reach);
});
