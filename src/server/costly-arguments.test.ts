import { expect, test } from 'vitest';
import { z } from 'zod';
import { TestExchange } from '../../test/support/exchange.ts';
import type { Caller } from '../core/exchange.ts';
import { McpServer } from './mcp-server.ts';

/** A server with a tool whose arguments take longer to check than the work of one turn of the event loop may. */
function setUp() {
  const checked: string[] = [];
  const handled: string[] = [];
  const server = new McpServer({ name: 'test', version: '1' });
  const costly = z.string().refine((value) => {
    checked.push(value);
    const end = performance.now() + 25;
    while (performance.now() < end);
    return true;
  });
  server.tool('costly', { input: z.object({ from: costly }) }, ({ from }) => {
    handled.push(from);
    return 'done';
  });
  const exchange = (from: string, caller: Partial<Caller>): TestExchange =>
    new TestExchange('tools/call', { name: 'costly', arguments: { from } }, { caller });
  return { server, exchange, checked, handled };
}

const SESSION = { id: 's', signal: new AbortController().signal };

test.each<[string, Partial<Caller>, Partial<Caller>]>([
  ['principal', { principal: 'a' }, { principal: 'b' }],
  ['session', { session: SESSION }, { session: { ...SESSION } }],
  ['address', { address: '192.0.2.1' }, { address: '192.0.2.2' }],
])('a caller does not wait for all costly calls of another %s', async (_what, many, one) => {
  const { server, exchange, handled } = setUp();
  const flood = Array.from({ length: 20 }, () => server.service(exchange('many', many)));
  await server.service(exchange('one', one));
  expect(handled.indexOf('one')).toBeLessThan(4);
  await Promise.all(flood);
  expect(handled).toHaveLength(21);
});

test('calls of a caller that has left are neither checked nor run', async () => {
  const { server, exchange, checked, handled } = setUp();
  const exchanges = Array.from({ length: 20 }, () => exchange('gone', {}));
  const calls = exchanges.map((each) => server.service(each));
  const first = await calls[0];
  for (const each of exchanges) each.abort();
  const results = await Promise.allSettled(calls);
  expect(first).toMatchObject({ content: [{ text: 'done' }] });
  expect(results.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(15);
  expect([checked.length < 5, handled.length < 5]).toEqual([true, true]);
});
