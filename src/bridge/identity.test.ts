import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { Caller } from '../core/exchange.ts';
import { identityOf, keyOf } from './identity.ts';

const caller = (more: Partial<Caller>): Caller => new TestExchange('m', {}, { caller: more }).caller;

test('callers with the same principal, program and capabilities share a connection', () => {
  const one = caller({ capabilities: { roots: {}, sampling: { tools: {} } }, clientInfo: { name: 'a', version: '1' } });
  const same = caller({
    capabilities: { sampling: { tools: {} }, roots: {} },
    clientInfo: { name: 'a', version: '1' },
  });
  expect(keyOf(same)).toBe(keyOf(one));
  const others = [
    { ...one, principal: 'p' },
    { ...one, clientInfo: { name: 'b', version: '1' } },
    { ...one, clientInfo: undefined },
    { ...one, capabilities: { roots: {} } },
    { ...one, capabilities: { roots: {}, sampling: { tools: [] } } },
  ];
  expect(new Set([one, ...others].map(keyOf)).size).toBe(6);
});

test('the bridge uses its own name for a caller without a name', () => {
  expect(identityOf(caller({ revision: '2025-06-18' }))).toMatchObject({
    clientInfo: { name: 'everwire-bridge' },
    onBehalfOf: '2025-06-18',
  });
});

test('a caller without a session does not declare roots.listChanged', () => {
  const capabilities = { roots: { listChanged: true, x: 1 }, sampling: {} };
  expect(identityOf(caller({ capabilities })).capabilities).toEqual({ roots: { x: 1 }, sampling: {} });
  const session = { id: 's', signal: new AbortController().signal };
  expect(identityOf(caller({ capabilities, session })).capabilities).toBe(capabilities);
});
