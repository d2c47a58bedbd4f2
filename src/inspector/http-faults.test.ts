import { expect, test } from 'vitest';
import { TestHttp } from '../../test/support/http.ts';
import { scripted } from '../../test/support/service.ts';
import type { RuleAction } from '../inspect/breakpoints/breakpoint-api.ts';
import { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { HttpFaults } from './http-faults.ts';

/** A server with a rule for the requests that match a filter. */
function withRule(filter: string, action: RuleAction): TestHttp {
  const breakpoints = new Breakpoints({ actions: ['corrupt', 'cut', 'status'] });
  breakpoints.setRule({ filter, action, enabled: true });
  const { service } = scripted({ echo: () => ({ here: true }) });
  const faults = new HttpFaults(breakpoints, () => http.handler);
  const http = new TestHttp(service, { pages: () => faults.page() });
  return http;
}

test('a request that matches gets the fault', async () => {
  const session = await withRule('"find me"', { type: 'status', status: 500 }).open();
  expect((await session.call(1, 'echo', { text: 'find me' })).status).toBe(500);
  expect((await session.call(2, 'echo', { text: 'other' })).status).toBe(200);
});

test('a request that is nested too deeply is not compared with rules, and refused', async () => {
  const http = withRule('"find me"', { type: 'corrupt' });
  const deep = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
  const refused = await http.post(deep);
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { message: 'Invalid request: a message must not be nested deeper than 1000 values' } },
  ]);
});

test('of a batch that is too long, no message is compared', async () => {
  const session = await withRule('method:echo', { type: 'status', status: 500 }).open('2025-03-26');
  const batch = Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'echo' }));
  expect((await session.post(batch)).status).toBe(400);
  expect((await session.post(batch.slice(0, 1000))).status).toBe(500);
});
