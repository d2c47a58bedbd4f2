import { expect, test } from 'vitest';
import { shareOf } from './share.ts';

const of = (address: string | undefined): string => shareOf({ principal: undefined, address });

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
  ['2001:db8:1:2::', '2001:DB8:1:2::7'],
  ['2001:0db8:0001:0002::1', '2001:db8:1:2::1'],
  ['2001:db8::1', '2001:db8:0:0:1::'],
  ['2001:db8::', '2001:db8::a:b:c:d'],
  ['fe80::1%eth0', 'fe80::2%eth1'],
  ['::1', '::2'],
  ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
])('%s and %s are addresses of one client', (one, other) => {
  expect(of(one)).toBe(of(other));
});

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:3::1'],
  ['2001:db8::1', '2001:db8:0:1::1'],
  ['1::', '::1'],
  ['192.0.2.1', '192.0.2.2'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
  ['::ffff:192.0.2.1', '::1'],
  ['192.0.2.1', undefined],
])('%s and %s are addresses of two clients', (one, other) => {
  expect(of(one)).not.toBe(of(other));
});

test('an IPv4 client has one share on sockets of both kinds', () => {
  expect(of('::ffff:192.0.2.1')).toBe(of('192.0.2.1'));
  expect(of('::FFFF:192.0.2.1')).toBe(of('192.0.2.1'));
});

test('a principal has one share, whatever its addresses are', () => {
  expect(shareOf({ principal: 'ada', address: '192.0.2.1' })).toBe(shareOf({ principal: 'ada', address: '::1' }));
  expect(shareOf({ principal: '::1', address: undefined })).not.toBe(of('::1'));
});
