import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { bearer, client, samples, startBridge } from '../support/bridge-program.ts';
import { features, startEverwire } from '../support/command-line.ts';
import { initialize, POST_HEADERS } from '../support/http.ts';
import { root } from '../support/process.ts';

/** A server at a URL that records the `_meta` and the headers of each call. */
async function upstreamServer(): Promise<{ url: string; metas: unknown[]; headers: (string | undefined)[] }> {
  const metas: unknown[] = [];
  const headers: (string | undefined)[] = [];
  const server = new McpServer({ name: 'upstream', version: '1' });
  const input = { type: 'object', properties: { text: { type: 'string' } } } as const;
  server.tool('echo', { input }, ({ text }) => String(text));
  server.use((next) => (exchange) => {
    if (exchange.method === 'tools/call') {
      metas.push(exchange.params['_meta']);
      headers.push(exchange.header?.('x-upstream'));
    }
    return next(exchange);
  });
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => server.close(0));
  return { url: listener.url, metas, headers };
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traced = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'rojo=1', baggage: 'userId=alice' };

describe('calls to the server', () => {
  test.each(['legacy', 'modern'] as const)('carry the trace of a client of a %s revision unchanged', async (eras) => {
    const { url, metas, headers } = await upstreamServer();
    const server = await startBridge(['--header', 'X-Upstream: for ${env:WHOM}', url], { WHOM: 'ada' });
    const caller = await client(server.url, { eras });
    await caller.callTool('echo', { text: 'hello' }, { meta: traced });
    expect(metas).toEqual([expect.objectContaining(traced)]);
    expect(headers).toEqual(['for ada']);
  });

  test('continue the trace with the spans of the bridge if it has OpenTelemetry', async () => {
    const { url, metas } = await upstreamServer();
    const setUp = pathToFileURL(`${root}test/fixtures/print-spans.mjs`).href;
    const server = await startBridge([url], { NODE_OPTIONS: `--import ${setUp}` });
    const caller = await client(server.url);
    await caller.callTool('echo', { text: 's3cret' }, { meta: traced });
    await server.line(/"kind":1,.*tools\/call/);
    const spans = server.stderr
      .filter((line) => line.startsWith('span '))
      .map((line) => JSON.parse(line.slice('span '.length)))
      .filter(({ name }) => name === 'tools/call echo');
    const [out, incoming] = spans;
    expect(spans).toHaveLength(2);
    expect(incoming).toMatchObject({ kind: 1, traceId: TRACE, parent: '00f067aa0ba902b7' });
    expect(out).toMatchObject({ kind: 2, traceId: TRACE, parent: incoming.spanId });
    expect(metas).toEqual([expect.objectContaining({ traceparent: `00-${TRACE}-${out.spanId}-01` })]);
    expect(server.stderr.join('\n')).not.toContain('s3cret');
  });
});

describe('the log', () => {
  /** Everything that a bridge logs if it has secrets in every possible place. */
  async function logOf(format: string): Promise<string[]> {
    const { url } = await upstreamServer();
    const server = await startBridge([
      ...['--log-format', format, '--log-level', 'debug', '--log-requests', '--metrics'],
      ...['--bearer', 's3cret-bearer-token', '--api-key', 's3cret-api-key-token'],
      ...['--header', 'Authorization: Bearer s3cret-upstream', `${url}?key=s3cret-query`],
    ]);
    const caller = await client(`${server.url}?access=s3cret-in-url`, bearer('s3cret-bearer-token'));
    await caller.callTool('echo', { text: 's3cret-argument' });
    await caller.callTool('echo', { text: 7, wrong: 's3cret-wrong' }).catch(() => {});
    await caller.request('s/unknown', { key: 's3cret-params' }).catch(() => {});
    await connect(server.url, bearer('s3cret-of-others')).catch(() => {});
    await connect(server.url, { headers: { 'x-api-key': 's3cret-of-others' } }).catch(() => {});
    server.child.kill('SIGTERM');
    await server.exited;
    return server.stderr;
  }

  test('in plain format has a line for each request, without secrets', async () => {
    const log = (await logOf('plain')).join('\n');
    expect(log).not.toContain('s3cret');
    expect(log).toMatch(/^everwire: request request=\S+ server=127\.0\.0\.1 method=tools\/call name=echo outcome=ok/m);
  });

  test('in JSON has an object for each request, without secrets', async () => {
    const log = await logOf('json');
    expect(log.join('\n')).not.toContain('s3cret');
    const calls = log
      .map((line) => JSON.parse(line))
      .filter(({ msg, method }) => msg === 'request' && method === 'tools/call');
    expect(calls[0]).toMatchObject({
      level: 'info',
      server: '127.0.0.1',
      name: 'echo',
      outcome: 'ok',
      principal: 'bearer-1',
      ms: expect.any(Number),
      request: expect.any(String),
    });
    expect(new Set(calls.map(({ request }) => request)).size).toBe(calls.length);
  });

  test('in JSON contains only JSON, even if the bridge fails to start', async () => {
    const child = startEverwire(['bridge', '--log-format', 'json', '--', 'no-such-command-anywhere']);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 'error', msg: expect.stringContaining('command not found') }),
    ]);
  });

  test('contains refused requests, which are also counted', async () => {
    const server = await startBridge([
      '--max-sessions',
      '1',
      '--bearer',
      'a-token-of-some-length',
      '--metrics',
      ...features,
    ]);
    const open = (token: string): Promise<Response> =>
      fetch(server.url, {
        method: 'POST',
        headers: { ...POST_HEADERS, authorization: `Bearer ${token}` },
        body: JSON.stringify(initialize()),
      });
    expect((await open('a-token-of-some-length')).status).toBe(200);
    expect((await open('a-token-of-some-length')).status).toBe(503);
    expect((await open('another-token')).status).toBe(401);
    await server.line(/refused: too many sessions \(503\) address="127\.0\.0\.1" principal="bearer-1"$/);
    await server.line(/refused: credential \(401\) address="127\.0\.0\.1"$/);
    expect(await samples(await server.get('/metrics'))).toMatchObject({
      'everwire_http_refusals_total{reason="too_many_sessions",status="503"}': 1,
      'everwire_http_refusals_total{reason="credential",status="401"}': 1,
      everwire_http_buffered_bytes: expect.any(Number),
    });
  });

  test('omits messages below its level', async () => {
    const words = ['bridge', '--stdio', '--log-level', 'silent', '--', 'no-such-command-anywhere'];
    const child = startEverwire([...words]);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    child.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr).toEqual([]);
  });
});
