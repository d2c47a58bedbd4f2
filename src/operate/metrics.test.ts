import { describe, expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { aborted, deferred, scripted, settled } from '../../test/support/service.ts';
import { fetchListener } from '../transport/http/server/fetch.ts';
import { createHttpHandler } from '../transport/http/server/handler.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { pagesAt } from './page.ts';

/** The samples of a metrics page, by name with labels, as Prometheus parses them. */
async function samples(metrics: Metrics): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const line of (await metrics.text()).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, name, value] = /^(\w+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`no sample: ${line}`);
    found[name] = Number(value);
  }
  return found;
}

function failing(code: number): () => never {
  return () => {
    throw new RpcError(code, 'no');
  };
}

describe('the metrics', () => {
  test('count requests by server, method and outcome', async () => {
    const metrics = await createMetrics({ process: false });
    const { service } = scripted({
      'tools/call': ({ params }) => (params['name'] === 'bad' ? { content: [], isError: true } : { content: [] }),
      'prompts/get': () => ({ resultType: 'input_required' }),
      'resources/read': failing(-32_602),
    });
    const counted = metrics.middleware('shop')(service);
    await counted(new TestExchange('tools/call', { name: 'good' }));
    await counted(new TestExchange('tools/call', { name: 'bad' }));
    await counted(new TestExchange('prompts/get'));
    await expect(counted(new TestExchange('resources/read'))).rejects.toThrow('no');
    expect(await samples(metrics)).toMatchObject({
      'everwire_calls_total{server="shop",method="tools/call",outcome="ok"}': 1,
      'everwire_calls_total{server="shop",method="tools/call",outcome="tool_error"}': 1,
      'everwire_calls_total{server="shop",method="prompts/get",outcome="input_required"}': 1,
      'everwire_calls_total{server="shop",method="resources/read",outcome="error"}': 1,
      'everwire_errors_total{server="shop",method="resources/read",code="-32602"}': 1,
      'everwire_call_duration_seconds_count{server="shop",method="tools/call"}': 2,
      'everwire_call_duration_seconds_bucket{le="+Inf",server="shop",method="resources/read"}': 1,
      'everwire_calls_in_flight{server="shop"}': 0,
    });
  });

  test('have no series for names that callers or servers invent', async () => {
    const metrics = await createMetrics({ process: false });
    const tools = [{ name: 'known' }, { name: 7 }, null];
    const { service } = scripted({
      'tools/list': () => ({ tools }),
      'tools/call': failing(-1),
      made_up: failing(-32_077),
    });
    const counted = metrics.middleware('shop')(service);
    await counted(new TestExchange('tools/list'));
    for (const name of ['known', 'unknown-1', 'unknown-2', { an: 'object' }]) {
      await counted(new TestExchange('tools/call', { name })).catch(() => {});
    }
    for (const method of ['made_up', '__proto__', 'tools/call ']) {
      await counted(new TestExchange(method)).catch(() => {});
    }
    const text = await metrics.text();
    expect(text).not.toMatch(/unknown|made_up|proto|call |-32077/);
    expect(await samples(metrics)).toMatchObject({
      'everwire_tool_calls_total{server="shop",tool="known",outcome="error"}': 1,
      'everwire_tool_calls_total{server="shop",tool="other",outcome="error"}': 3,
      'everwire_calls_total{server="shop",method="other",outcome="error"}': 3,
      'everwire_errors_total{server="shop",method="other",code="reserved"}': 1,
      'everwire_errors_total{server="shop",method="tools/call",code="other"}': 4,
    });
  });

  test('count a tool by name from its first call that succeeds, even if no client has listed it', async () => {
    const metrics = await createMetrics({ process: false, maxTools: 2 });
    const replies: Record<string, object> = { asks: { resultType: 'input_required' }, unknown: { isError: true } };
    const { service } = scripted({
      'tools/call': ({ params }) => ({ content: [], ...replies[String(params['name'])] }),
    });
    const counted = metrics.middleware('shop')(service);
    for (const name of ['unknown', 'add', 'asks', 'third']) await counted(new TestExchange('tools/call', { name }));
    expect(await samples(metrics)).toMatchObject({
      'everwire_tool_calls_total{server="shop",tool="add",outcome="ok"}': 1,
      'everwire_tool_calls_total{server="shop",tool="asks",outcome="input_required"}': 1,
      'everwire_tool_calls_total{server="shop",tool="other",outcome="tool_error"}': 1,
      'everwire_tool_calls_total{server="shop",tool="other",outcome="ok"}': 1,
    });
  });

  test('have a limited number of tool names for each server', async () => {
    const metrics = await createMetrics({ process: false, maxTools: 2 });
    const tools = ['a', 'b', 'c'].map((name) => ({ name }));
    const { service } = scripted({ 'tools/list': () => ({ tools }), 'tools/call': () => ({ content: [] }) });
    const counted = metrics.middleware('shop')(service);
    await counted(new TestExchange('tools/list'));
    for (const name of 'abc') await counted(new TestExchange('tools/call', { name }));
    expect(await samples(metrics)).toMatchObject({
      'everwire_tool_calls_total{server="shop",tool="b",outcome="ok"}': 1,
      'everwire_tool_calls_total{server="shop",tool="other",outcome="ok"}': 1,
    });
  });

  test('do not keep a tool name of more than 128 characters', async () => {
    const metrics = await createMetrics({ process: false });
    const names = ['n'.repeat(128), 'x'.repeat(129)];
    const tools = names.map((name) => ({ name }));
    const { service } = scripted({ 'tools/list': () => ({ tools }), 'tools/call': () => ({ content: [] }) });
    const counted = metrics.middleware('shop')(service);
    await counted(new TestExchange('tools/list'));
    for (const name of names) await counted(new TestExchange('tools/call', { name }));
    expect(await samples(metrics)).toMatchObject({
      [`everwire_tool_calls_total{server="shop",tool="${names[0]}",outcome="ok"}`]: 1,
      'everwire_tool_calls_total{server="shop",tool="other",outcome="ok"}': 1,
    });
  });

  test('do not keep a tool name with characters that can control a terminal', async () => {
    const metrics = await createMetrics({ process: false });
    const tools = ['\u001b[31m', 'nul\0', '\u202e', 'line\n', '\ud800'].map((name) => ({ name }));
    const { service } = scripted({ 'tools/list': () => ({ tools }), 'tools/call': () => ({ content: [] }) });
    const counted = metrics.middleware('shop')(service);
    await counted(new TestExchange('tools/list'));
    for (const { name } of tools) await counted(new TestExchange('tools/call', { name }));
    expect(await samples(metrics)).toMatchObject({
      'everwire_tool_calls_total{server="shop",tool="other",outcome="ok"}': 5,
    });
  });

  test('show requests in progress and cancelled requests', async () => {
    const metrics = await createMetrics({ process: false });
    const answer = deferred<object>();
    const { service } = scripted({
      'tools/call': async ({ signal }) => {
        await aborted(signal);
        throw new RpcError(-32_603, 'cancelled');
      },
      'tools/list': () => answer.promise,
      'subscriptions/listen': async ({ signal }) => aborted(signal).then(() => ({})),
    });
    const counted = metrics.middleware('shop')(service);
    const [call, listen] = [new TestExchange('tools/call', { name: 'a' }), new TestExchange('subscriptions/listen')];
    const open = [counted(call), counted(listen), counted(new TestExchange('tools/list'))];
    expect(await samples(metrics)).toMatchObject({
      'everwire_calls_in_flight{server="shop"}': 2,
      'everwire_subscriptions{server="shop"}': 1,
    });
    call.abort();
    listen.abort();
    answer.resolve({ tools: [] });
    await Promise.allSettled(open);
    const after = await samples(metrics);
    expect(after).toMatchObject({
      'everwire_calls_in_flight{server="shop"}': 0,
      'everwire_subscriptions{server="shop"}': 0,
      'everwire_calls_total{server="shop",method="tools/call",outcome="cancelled"}': 1,
    });
    // The duration of a subscription says nothing about the speed of the server.
    expect(after).not.toHaveProperty([
      'everwire_call_duration_seconds_count{server="shop",method="subscriptions/listen"}',
    ]);
  });

  test('do not count notifications as requests', async () => {
    const metrics = await createMetrics({ process: false });
    const { service } = scripted({ 'notifications/roots/list_changed': () => ({}) });
    await metrics.middleware('shop')(service)(new TestExchange('notifications/roots/list_changed'));
    expect(await metrics.text()).not.toContain('everwire_calls_total{');
  });

  test('have gauges that are read when the page is requested', async () => {
    const metrics = await createMetrics({ process: false });
    let sessions = 3;
    let restarts: Record<string, number> = { one: 1, two: 0 };
    metrics.gauge('everwire_sessions', 'Live sessions', () => sessions);
    metrics.counter('everwire_restarts_total', 'Restarts', () => restarts);
    await metrics.text();
    sessions = 1;
    restarts = { one: 2 };
    const text = await metrics.text();
    expect(text).toContain('# TYPE everwire_restarts_total counter');
    const { 'everwire_restarts_total{server="two"}': gone, ...rest } = await samples(metrics);
    expect(gone).toBeUndefined();
    expect(rest).toMatchObject({ everwire_sessions: 1, 'everwire_restarts_total{server="one"}': 2 });
  });

  test('include those of the process', async () => {
    const metrics = await createMetrics();
    expect((await samples(metrics))['process_resident_memory_bytes']).toBeGreaterThan(1e6);
  });
});

test('the page serves metrics, only to authenticated callers if so configured', async () => {
  const metrics = await createMetrics({ process: false });
  const auth = {
    authenticate: () => ({ status: 401 as const, message: 'no', headers: {} }),
    authorize: () => undefined,
    metadata: () => undefined,
  };
  const pages = pagesAt({ '/metrics': metrics.page(), '/private': metrics.page({ requiresAuth: true }) });
  const get = fetchListener(createHttpHandler({ onsession: () => {}, auth, pages }));
  const response = await get(new Request('http://localhost/metrics'));
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toContain('# TYPE everwire_call_duration_seconds histogram');
  expect((await get(new Request('http://localhost/metrics', { method: 'POST' }))).status).toBe(405);
  expect((await get(new Request('http://localhost/private'))).status).toBe(401);
  await settled();
});
