import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred, settled } from '../../test/support/service.ts';
import type { Service } from '../core/exchange.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { createFleet } from './fleet/fleet.ts';
import { checkHeaders } from './header-check.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const region = { type: 'string', 'x-mcp-header': 'Region' };
const tool = (name: string, properties: JsonObject): JsonObject => ({
  name,
  inputSchema: { type: 'object', properties },
});

/** A server with the given tools, one per page, behind the check. `seen` has its requests. */
function checked(tools: JsonObject[]): { service: Service; tools: JsonObject[]; seen: string[] } {
  const seen: string[] = [];
  const server: Service = async ({ method, params }) => {
    seen.push(method);
    if (method !== 'tools/list') return { content: [] };
    const page = Number(params['cursor'] ?? 0);
    return { tools: tools.slice(page, page + 1), ...(page + 1 < tools.length && { nextCursor: String(page + 1) }) };
  };
  return { service: checkHeaders(server), tools, seen };
}

function call(name: string, args: JsonObject | undefined, headers?: Record<string, string>): TestExchange {
  return new TestExchange('tools/call', args ? { name, arguments: args } : { name }, {
    caller: { revision: '2026-07-28' },
    ...(headers && { headers }),
  });
}

const list = (cursor?: string): TestExchange =>
  new TestExchange('tools/list', cursor ? { cursor } : {}, { caller: { revision: '2026-07-28' }, headers: {} });

const codeOf = (result: Promise<JsonObject>): Promise<number> =>
  result.then(
    () => 0,
    (error: RpcError) => error.code,
  );

test('headers that differ from the arguments are refused, by the definitions in the lists that passed', async () => {
  const { service, seen } = checked([tool('t', { region })]);
  await service(list());
  expect(await codeOf(service(call('t', { region: 'eu' }, { 'mcp-param-region': 'eu' })))).toBe(0);
  expect(seen).toEqual(['tools/list', 'tools/call']);
  const wrong: Record<string, string>[] = [{}, { 'mcp-param-region': 'us' }, { 'mcp-param-region': '=?base64?ZXU?=' }];
  for (const headers of wrong) expect(await codeOf(service(call('t', { region: 'eu' }, headers)))).toBe(-32020);
  expect(await codeOf(service(call('t', undefined, { 'mcp-param-region': 'eu' })))).toBe(-32020);
  expect(seen.filter((method) => method === 'tools/call')).toHaveLength(1);
});

test('the list is read to its end for a tool that no list has shown', async () => {
  const { service, seen } = checked([tool('a', {}), tool('t', { region })]);
  expect(await codeOf(service(call('t', { region: 'eu' }, {})))).toBe(-32020);
  expect(await codeOf(service(call('t', { region: 'eu' }, { 'mcp-param-region': 'eu' })))).toBe(0);
  expect(seen).toEqual(['tools/list', 'tools/list', 'tools/call']);
});

test('the list is read once for all waiting calls, and a cancelled call stops waiting', async () => {
  const { promise, resolve } = deferred<JsonObject>();
  const seen: string[] = [];
  const service = checkHeaders(({ method }) => {
    seen.push(method);
    return method === 'tools/list' ? promise : Promise.resolve({});
  });
  const first = call('t', { region: 'eu' }, {});
  const codes = [first, call('t', { region: 'eu' }, {})].map((exchange) => codeOf(service(exchange)));
  await settled();
  first.abort();
  expect(await codes[0]).toBe(-32603);
  resolve({ tools: [tool('t', { region })] });
  expect(await codes[1]).toBe(-32020);
  expect(seen).toEqual(['tools/list']);
});

test('the list is read again if the headers do not match a known definition, but not for each call', async () => {
  const { service, tools, seen } = checked([tool('t', { region })]);
  await service(list());
  tools[0] = tool('t', {});
  expect(await codeOf(service(call('t', { region: 'eu' }, {})))).toBe(0);
  tools[0] = tool('t', { region });
  for (let calls = 0; calls < 3; calls += 1) await service(call(`unknown-${calls}`, {}, {}));
  expect(seen.filter((method) => method === 'tools/list')).toHaveLength(2);
  vi.advanceTimersByTime(10_001);
  await service(call('another', {}, {}));
  expect(await codeOf(service(call('t', { region: 'eu' }, {})))).toBe(-32020);
  expect(seen.filter((method) => method === 'tools/list')).toHaveLength(3);
});

test('a call is not refused because the list fails', async () => {
  const service = checkHeaders(({ method }) =>
    method === 'tools/list' ? Promise.reject(new Error('no')) : Promise.resolve({}),
  );
  expect(await codeOf(service(call('t', { region: 'eu' }, {})))).toBe(0);
});

test('a call is not refused because the list takes too long', async () => {
  let given: AbortSignal | undefined;
  const service = checkHeaders(({ method, signal }) => {
    if (method !== 'tools/list') return Promise.resolve({});
    given = signal;
    return new Promise(() => {});
  });
  const code = codeOf(service(call('t', { region: 'eu' }, {})));
  await vi.advanceTimersByTimeAsync(9999);
  expect(given!.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await code).toBe(0);
  expect(given!.aborted).toBe(true);
});

test('a call is not refused because of an invalid definition, or a header without an argument', async () => {
  const { service } = checked([tool('t', { a: { type: 'number', 'x-mcp-header': 'A' } }), tool('u', {})]);
  expect(await codeOf(service(call('t', { a: 1 }, {})))).toBe(0);
  expect(await codeOf(service(call('u', {}, { 'mcp-param-other': 'x' })))).toBe(0);
});

test('without such headers, nothing is checked and no list is read', async () => {
  const { service, seen } = checked([tool('t', { region })]);
  expect(await codeOf(service(call('t', { region: 'eu' })))).toBe(0);
  const legacy = new TestExchange('tools/call', { name: 't', arguments: { region: 'eu' } }, { headers: {} });
  expect(await codeOf(service(legacy))).toBe(0);
  expect(seen).toEqual(['tools/call', 'tools/call']);
});

test('in a fleet, calls are checked by the names that clients see', async () => {
  const one = checked([tool('t', { region })]);
  const other = checked([tool('t', {})]);
  const fleet = createFleet({
    members: [
      { name: 'one', service: one.service },
      { name: 'other', service: other.service },
    ],
  });
  expect(await codeOf(fleet.service(call('one__t', { region: 'eu' }, {})))).toBe(-32020);
  expect(await codeOf(fleet.service(call('one__t', { region: 'eu' }, { 'mcp-param-region': 'eu' })))).toBe(0);
  expect(await codeOf(fleet.service(call('other__t', { region: 'eu' }, {})))).toBe(0);
  for (const method of ['tools/call', 'tools/list'])
    expect([one, other].map(({ seen }) => seen.filter((each) => each === method).length)).toEqual([1, 1]);
  fleet.close();
});

test('in a fleet, known tools need no list, and no list of another server is read', async () => {
  const one = checked([tool('t', { region })]);
  const described =
    (service: Service): Service =>
    (exchange) =>
      exchange.method === 'server/discover' ? Promise.resolve({ capabilities: { tools: {} } }) : service(exchange);
  const rename = { t: 'x' };
  const fleet = createFleet({
    members: [
      { name: 'one', service: described(one.service), tools: { rename } },
      { name: 'hangs', service: described(() => new Promise(() => {})) },
    ],
  });
  expect(await codeOf(fleet.service(call('x', { region: 'eu' }, {})))).toBe(-32020);
  const listed = fleet.service(list());
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await listed).toMatchObject({ tools: [{ name: 'x' }] });
  one.seen.length = 0;
  expect(await codeOf(fleet.service(call('x', { region: 'eu' }, { 'mcp-param-region': 'eu' })))).toBe(0);
  expect(one.seen).toEqual(['tools/call']);
  fleet.close();
});
