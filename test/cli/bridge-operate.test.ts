import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as sendRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Client, type ClientOptions } from '../../src/client/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { canCertify, certificate } from '../support/certificate.ts';
import { initialize, POST_HEADERS } from '../support/http.ts';
import { TestIssuer } from '../support/issuer.ts';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  root,
  startNode,
  type RunningProcess,
} from '../support/process.ts';

const running: RunningProcess[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

interface RunningBridge extends RunningProcess {
  readonly url: string;
  /** Fetches another path. */
  get(page: string, headers?: Record<string, string>): Promise<Response>;
}

const FEATURES = ['--', process.execPath, ...programs.features, '--stdio'];

/** Starts a bridge on a free port. The last arguments name the server behind it. */
async function bridge(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunningBridge> {
  const child = startNode([...programs.everwire, 'bridge', '--port', '0', ...words], env);
  running.push(child);
  const [, url] = await child.line(/(?:listening on |"url":")(https?:\/\/[^\s"]+)/, 30_000);
  const get = (page: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(new URL(page, url), { headers });
  return { ...child, url: url!, get };
}

async function client(url: string, options: ClientOptions = {}): Promise<Client> {
  const connected = await connect(url, { onerror: () => {}, ...options });
  onTestFinished(() => connected.close());
  return connected;
}

/** Sends a request with any `Host`. `fetch` always sets its own. */
function statusFor(host: string, url: URL): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    sendRequest(url, { headers: { host }, agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

const bearer = (token: string): ClientOptions => ({ headers: { authorization: `Bearer ${token}` } });

/** The samples of a metrics page, by name with labels. */
async function samples(response: Response): Promise<Record<string, number>> {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const found: Record<string, number> = {};
  for (const line of (await response.text()).split('\n')) {
    if (line === '' || /^# (HELP|TYPE) \w+ /.test(line)) continue;
    const [, name, value] = /^([a-z_:][\w:]*(?:\{(?:\w+="[^"]*",?)*\})?) ([\d.e+-]+|NaN|[+-]Inf)$/i.exec(line) ?? [];
    if (name === undefined) throw new Error(`Prometheus would not read this: ${line}`);
    found[name] = Number(value);
  }
  return found;
}

describe('health', () => {
  test('is served at /healthz and /readyz, with few details', async () => {
    const server = await bridge(FEATURES);
    expect(await (await server.get('/healthz')).json()).toEqual({ status: 'ok' });
    expect(await (await server.get('/readyz')).json()).toEqual({ status: 'ready' });
    expect(await statusFor('evil.example', new URL('/healthz', server.url))).toBe(403);
    expect((await server.get('/healthz', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await server.get('/metrics')).status).toBe(404);
  });

  test('is not served if disabled', async () => {
    const server = await bridge(['--no-health', ...FEATURES]);
    expect((await server.get('/healthz')).status).toBe(404);
  });

  test('is not ready while the server is unreachable, and ready again afterwards', async () => {
    const upstream = new McpServer({ name: 'upstream', version: '1' });
    upstream.tool('add', {}, () => 'done');
    const first = await upstream.listen({ port: 0 });
    const server = await bridge([first.url]);
    const caller = await client(server.url);
    await first.close();
    await expect(caller.callTool('add')).rejects.toThrow(/./);
    await eventually(async () => (await server.get('/readyz')).status === 503, 'that it is not ready');
    expect(await (await server.get('/readyz')).json()).toEqual({
      status: 'not ready',
      problems: { upstream: 'unreachable' },
    });
    const again = new McpServer({ name: 'upstream', version: '1' });
    const second = await again.listen({ port: first.port });
    onTestFinished(() => second.close(0));
    await eventually(async () => (await server.get('/readyz')).status === 200, 'that it is ready', 15_000);
  });
});

describe('metrics', () => {
  test('can be scraped, and count calls of clients of both eras', async () => {
    const server = await bridge(['--metrics', ...FEATURES]);
    const modern = await client(server.url, { eras: 'modern' });
    const legacy = await client(server.url, { eras: 'legacy' });
    await modern.callTool('add', { a: 1, b: 2 });
    await legacy.callTool('fail');
    await legacy.callTool('no-such-tool').catch(() => {});
    const found = await samples(await server.get('/metrics'));
    const label = 'server="feature-server"';
    expect(found).toMatchObject({
      [`everwire_tool_calls_total{${label},tool="add",outcome="ok"}`]: 1,
      [`everwire_tool_calls_total{${label},tool="fail",outcome="tool_error"}`]: 1,
      [`everwire_calls_in_flight{${label}}`]: 0,
      everwire_sessions: 1,
      everwire_streams: 1,
      everwire_suspended_requests: 0,
      [`everwire_upstreams{${label}}`]: 2,
      [`everwire_upstream_restarts_total{${label}}`]: 0,
    });
    expect(found[`everwire_call_duration_seconds_count{${label},method="tools/call"}`]).toBeGreaterThanOrEqual(2);
    expect(found['process_resident_memory_bytes']).toBeGreaterThan(0);
    expect(Object.keys(found).join()).not.toContain('no-such-tool');
  });

  test('include questions that wait for their caller, and restarts of the child', async () => {
    // A server of a handshake revision, so its questions wait in the bridge.
    const server = await bridge(['--metrics', '--shared', '--', process.execPath, ...programs.everything]);
    const metrics = async (): Promise<Record<string, number>> => samples(await server.get('/metrics'));
    const waited = await new Promise<Record<string, number>>((resolve, reject) => {
      const onelicit = async (): Promise<{ action: 'decline' }> => {
        resolve(await metrics());
        return { action: 'decline' };
      };
      client(server.url, { eras: 'modern', onelicit })
        .then((caller) => caller.callTool('trigger-elicitation-request'))
        .catch(reject);
    });
    expect(waited['everwire_suspended_requests']).toBe(1);
    await eventually(async () => (await metrics())['everwire_suspended_requests'] === 0, 'that nothing is suspended');
    const [child] = descendants(server.pid);
    process.kill(child!, 'SIGKILL');
    await eventually(() => !isAlive(child!), 'the end of the child');
    const caller = await client(server.url);
    await caller.callTool('echo', { message: 'again' });
    expect(await metrics()).toMatchObject({
      'everwire_upstream_restarts_total{server="index"}': 1,
      'everwire_upstreams{server="index"}': 1,
    });
  });

  test('require authentication if so configured, but health does not', async () => {
    const token = 's3cret-0123456789';
    const server = await bridge(['--metrics-auth', '--bearer', token, ...FEATURES]);
    expect((await server.get('/metrics')).status).toBe(401);
    expect((await server.get('/metrics', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await server.get('/readyz')).status).toBe(200);
  });
});

describe('a caller', () => {
  test('authenticates with a token or a key from the command line, a file or the environment', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'everwire-bridge-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const file = path.join(directory, 'tokens');
    writeFileSync(file, 'token-in-file-1\ntoken-in-file-2\n');
    const server = await bridge(
      ['--bearer', `@${file}`, '--bearer', 'env:BRIDGE_TOKEN', '--api-key', 'key-on-the-line', ...FEATURES],
      { BRIDGE_TOKEN: 'token-in-environment' },
    );
    for (const token of ['token-in-file-1', 'token-in-file-2', 'token-in-environment', 'key-on-the-line']) {
      const caller = await client(server.url, bearer(token));
      expect((await caller.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    }
    const keyed = await client(server.url, { headers: { 'x-api-key': 'key-on-the-line' } });
    expect((await keyed.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    await expect(connect(server.url)).rejects.toThrow(/401/);
    await expect(connect(server.url, bearer('token-of-nobody'))).rejects.toThrow(/401/);
    await expect(connect(server.url, { headers: { 'x-api-key': 'token-in-file-1' } })).rejects.toThrow(/401/);
  });

  test('is accepted with a token of the authorization server, and others learn where to get one', async () => {
    const issuer = await TestIssuer.start();
    onTestFinished(() => issuer.close());
    const audience = 'http://127.0.0.1/mcp';
    const server = await bridge([
      ...['--issuer', issuer.url, '--jwks', `${issuer.origin}/keys`, '--audience', audience],
      ...['--api-key', 'key-beside-it', ...FEATURES],
    ]);
    for (const token of [await issuer.token(audience), 'key-beside-it']) {
      const caller = await client(server.url, bearer(token));
      expect((await caller.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    }
    const refused = await server.get('/mcp', { authorization: `Bearer ${await issuer.token('http://elsewhere')}` });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain(
      'resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource/mcp"',
    );
    expect(await (await server.get('/.well-known/oauth-protected-resource/mcp')).json()).toMatchObject({
      resource: audience,
      authorization_servers: [issuer.url],
    });
  });

  test('is not accepted beyond loopback, unless the bridge allows anyone', async () => {
    const refused = startNode([...programs.everwire, 'bridge', '--host', '0.0.0.0', '--port', '0', ...FEATURES]);
    running.push(refused);
    expect(await refused.exited).toEqual({ code: 2, signal: null });
    expect(refused.stderr).toEqual([expect.stringMatching(/^everwire: --host 0\.0\.0\.0 lets other machines call/)]);
    const open = await bridge(['--host', '0.0.0.0', '--allow-unauthenticated', ...FEATURES]);
    expect((await open.get('/readyz')).status).toBe(200);
  });

  test('can be a web page of an allowed origin, and of no other', async () => {
    const server = await bridge(['--allow-origin', 'https://app.example', '--api-key', 'key-of-the-page', ...FEATURES]);
    const preflight = (origin: string): Promise<Response> =>
      fetch(server.url, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,mcp-protocol-version,mcp-param-city,x-api-key',
        },
      });
    const allowed = await preflight('https://app.example');
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const headers = allowed.headers.get('access-control-allow-headers')!.split(', ');
    const sent = [
      'content-type',
      'mcp-protocol-version',
      'mcp-session-id',
      'mcp-method',
      'mcp-param-city',
      'x-api-key',
    ];
    expect(headers).toEqual(expect.arrayContaining(sent));
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } };
    const opened = await fetch(server.url, {
      method: 'POST',
      headers: {
        origin: 'https://app.example',
        'x-api-key': 'key-of-the-page',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    expect(opened.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
    expect(opened.headers.get('mcp-session-id')).toBeTruthy();
    await opened.body?.cancel();
    const other = await preflight('https://evil.example');
    expect(other.status).toBe(403);
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe.skipIf(!canCertify)('with a certificate', () => {
  test('a bridge serves HTTPS to a client that trusts it', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'everwire-bridge-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const { cert, key } = certificate('bridge');
    const [certFile, keyFile] = ['cert.pem', 'key.pem'].map((file) => path.join(directory, file));
    writeFileSync(certFile!, cert);
    writeFileSync(keyFile!, key);
    const server = await bridge(['--tls-cert', certFile!, '--tls-key', keyFile!, ...FEATURES]);
    expect(server.url).toMatch(/^https:/);
    const call = (env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, [...programs.everwire, 'call', server.url, 'add', 'a=40', 'b=2'], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
        timeout: 20_000,
      });
    expect(call({ NODE_EXTRA_CA_CERTS: certFile! }).stdout.trim()).toBe('42');
    expect(call({}).status).toBe(3);
  });

  test('a bridge without the file ends with an error that names it', async () => {
    const child = startNode([
      ...programs.everwire,
      'bridge',
      '--tls-cert',
      'no.pem',
      '--tls-key',
      'no.key',
      ...FEATURES,
    ]);
    running.push(child);
    expect(await child.exited).toEqual({ code: 2, signal: null });
    expect(child.stderr.at(-1)).toMatch(/^everwire: --tls-cert or --tls-key: cannot read no\.(pem|key): ENOENT$/);
  });
});

describe('SIGTERM', () => {
  test('lets a request finish, refuses new ones, and leaves no process behind', async () => {
    const server = await bridge(FEATURES);
    const caller = await client(server.url, { eras: 'legacy' });
    let begun: (() => void) | undefined;
    const started = new Promise<void>((resolve) => (begun = resolve));
    const call = caller.callTool('sleep', { ms: 1500 }, { onprogress: () => begun!() });
    await started;
    const children = descendants(server.pid);
    server.child.kill('SIGTERM');
    await eventually(async () => (await server.get('/readyz')).status === 503, 'that it drains');
    expect(await (await server.get('/readyz')).json()).toEqual({
      status: 'not ready',
      problems: { process: 'draining' },
    });
    expect((await server.get('/healthz')).status).toBe(200);
    await expect(connect(server.url, { eras: 'legacy' })).rejects.toThrow(/shutting down|503/);
    expect((await call).content).toEqual([{ type: 'text', text: 'slept 1500 ms' }]);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(children).not.toEqual([]);
    expect(children.filter(isAlive)).toEqual([]);
  });

  test('ends each subscription with a response', async () => {
    const server = await bridge(FEATURES);
    const caller = await client(server.url, { eras: 'modern', restart: false });
    const subscription = await caller.subscribe({ toolsListChanged: true }, () => {});
    server.child.kill('SIGTERM');
    // A stream that breaks off would cause an error.
    expect(await subscription.closed).toBeUndefined();
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('waits no longer than the drain timeout, and ends at once after a second signal', async () => {
    for (const [options, signals, code] of [
      [['--drain-timeout', '1'], 1, 0],
      [['--drain-timeout', '600'], 2, 1],
    ] as const) {
      const server = await bridge([...options, ...FEATURES]);
      const caller = await client(server.url);
      let begun: (() => void) | undefined;
      const started = new Promise<void>((resolve) => (begun = resolve));
      const failed = caller.callTool('wait', {}, { onprogress: () => begun!() }).catch((error: unknown) => error);
      await started;
      const children = descendants(server.pid);
      server.child.kill('SIGTERM');
      await eventually(async () => (await server.get('/readyz')).status === 503, 'that it drains');
      const before = Date.now();
      if (signals === 2) server.child.kill('SIGTERM');
      expect(await server.exited).toEqual({ code, signal: null });
      expect(Date.now() - before).toBeLessThan(8000);
      expect(await failed).toBeInstanceOf(Error);
      expect(children.filter(isAlive)).toEqual([]);
      await caller.close();
    }
  });
});

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
    const server = await bridge(['--header', 'X-Upstream: for ${env:WHOM}', url], { WHOM: 'ada' });
    const caller = await client(server.url, { eras });
    await caller.callTool('echo', { text: 'hello' }, { meta: traced });
    expect(metas).toEqual([expect.objectContaining(traced)]);
    expect(headers).toEqual(['for ada']);
  });

  test('continue the trace with the spans of the bridge if it has OpenTelemetry', async () => {
    const { url, metas } = await upstreamServer();
    const setUp = pathToFileURL(`${root}test/fixtures/print-spans.mjs`).href;
    const server = await bridge([url], { NODE_OPTIONS: `--import ${setUp}` });
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
    const server = await bridge([
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
    const child = startNode([...programs.everwire, 'bridge', '--log-format', 'json', '--', 'no-such-command-anywhere']);
    running.push(child);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 'error', msg: expect.stringContaining('command not found') }),
    ]);
  });

  test('contains refused requests, which are also counted', async () => {
    const server = await bridge([
      '--max-sessions',
      '1',
      '--bearer',
      'a-token-of-some-length',
      '--metrics',
      ...FEATURES,
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
    await server.line(/refused: too many sessions \(503\)$/);
    await server.line(/refused: credential \(401\)$/);
    expect(await samples(await server.get('/metrics'))).toMatchObject({
      'everwire_http_refusals_total{reason="too_many_sessions",status="503"}': 1,
      'everwire_http_refusals_total{reason="credential",status="401"}': 1,
      everwire_http_buffered_bytes: expect.any(Number),
    });
  });

  test('omits messages below its level', async () => {
    const words = ['bridge', '--stdio', '--log-level', 'silent', '--', 'no-such-command-anywhere'];
    const child = startNode([...programs.everwire, ...words]);
    running.push(child);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    child.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr).toEqual([]);
  });
});

describe('without the optional packages', () => {
  const absent = { NODE_OPTIONS: `--import ${pathToFileURL(`${root}test/fixtures/without-optional.mjs`).href}` };

  test('a bridge works', async () => {
    const server = await bridge(FEATURES, absent);
    const caller = await client(server.url);
    expect((await caller.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    expect((await server.get('/readyz')).status).toBe(200);
  });

  test.each([
    [['--metrics'], /^everwire: metrics need the package prom-client: npm install prom-client$/],
    [['--log-format', 'json'], /^everwire: logs in JSON need the package pino: npm install pino$/],
  ])('%j names the missing package', async (words, message) => {
    const child = startNode([...programs.everwire, 'bridge', '--port', '0', ...words, ...FEATURES], absent);
    running.push(child);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr).toEqual([expect.stringMatching(message)]);
  });

  test('no spans are created', () => {
    const module = pathToFileURL(`${root}dist/src/operate/index.js`).href;
    const script = `const { createTracing } = await import('${module}'); console.log(await createTracing());`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, ...absent },
      encoding: 'utf8',
    });
    expect(stdout).toBe('undefined\n');
  });
});

test('the help has the options in groups', () => {
  const { stdout } = spawnSync(process.execPath, [...programs.everwire, 'bridge', '--help'], { encoding: 'utf8' });
  const headings = stdout.split('\n').filter((line) => /^\S.*:$/.test(line));
  expect(headings).toEqual([
    'Listening:',
    expect.stringMatching(/^Authentication over HTTP/),
    'The server:',
    'Limits:',
    'Monitoring and logs:',
    'Options:',
  ]);
});
