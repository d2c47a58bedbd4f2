import { expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { withoutMeta, withoutSender } from './meta.ts';

const PREFIX = 'io.modelcontextprotocol/';
const SENDER = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'a', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
  [`${PREFIX}logLevel`]: 'debug',
  [`${PREFIX}subscriptionId`]: 1,
};

test.each<[string, JsonObject, JsonObject]>([
  ['all of _meta', { name: 'a', _meta: SENDER }, { name: 'a' }],
  ['a part of _meta', { name: 'a', _meta: { ...SENDER, mine: 1 } }, { name: 'a', _meta: { mine: 1 } }],
])('the sender is removed from %s', (_, params, rest) => {
  const before = structuredClone(params);
  expect(withoutSender(params)).toEqual(rest);
  expect(params).toEqual(before);
});

test.each<JsonObject>([{}, { _meta: {} }, { _meta: { mine: 1 } }, { _meta: 'x' }, { _meta: null }])(
  '%j without a sender stays the same object',
  (params) => expect(withoutSender(params)).toBe(params),
);

test('one key is removed', () => {
  expect(withoutMeta({ a: 1, _meta: { b: 2, c: 3 } }, 'b')).toEqual({ a: 1, _meta: { c: 3 } });
});
