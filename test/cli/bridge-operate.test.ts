import { spawnSync } from 'node:child_process';
import { request as sendRequest } from 'node:http';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { client, samples, startBridge } from '../support/bridge-program.ts';
import { features, startEverwire } from '../support/command-line.ts';
import { descendants, eventually, isAlive, programs, root } from '../support/process.ts';
import { deferred } from '../support/service.ts';

/** Sends a request with any `Host`. `fetch` always sets its own. */
function statusFor(host: string, url: URL): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    sendRequest(url, { headers: { host }, agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

describe('health', () => {
  test('is served at /healthz and /readyz, with few details', async () => {
    const server = await startBridge(features);
    expect(await (await server.get('/healthz')).json()).toEqual({ status: 'ok' });
    expect(await (await server.get('/readyz')).json()).toEqual({ status: 'ready' });
    expect(await statusFor('evil.example', new URL('/healthz', server.url))).toBe(403);
    expect((await server.get('/healthz', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await server.get('/metrics')).status).toBe(404);
  });

  test('is not served if disabled', async () => {
    const server = await startBridge(['--no-health', ...features]);
    expect((await server.get('/healthz')).status).toBe(404);
  });

  test('is not ready while the server is unreachable, and ready again afterwards', async () => {
    const upstream = new McpServer({ name: 'upstream', version: '1' });
    upstream.tool('add', {}, () => 'done');
    const first = await upstream.listen({ port: 0 });
    const server = await startBridge([first.url]);
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
    const server = await startBridge(['--metrics', ...features]);
    const modern = await client(server.url, { eras: 'modern' });
    const legacy = await client(server.url, { eras: 'legacy' });
    await modern.callTool('add', { a: 1, b: 2 });
    await legacy.callTool('fail');
    await legacy.callTool('no-such-tool').catch(() => {});
    // The client opens its stream in the background.
    const metrics = async (): Promise<Record<string, number>> => samples(await server.get('/metrics'));
    const found = await eventually(async () => {
      const current = await metrics();
      return current['everwire_streams'] === 1 && current;
    }, 'the stream of a client');
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
    const server = await startBridge(['--metrics', '--shared', '--', process.execPath, ...programs.everything]);
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
    const server = await startBridge(['--metrics-auth', '--bearer', token, ...features]);
    expect((await server.get('/metrics')).status).toBe(401);
    expect((await server.get('/metrics', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await server.get('/readyz')).status).toBe(200);
  });
});

describe('SIGTERM', () => {
  test('lets a request finish, refuses new ones, and leaves no process behind', async () => {
    const server = await startBridge(['--drain-timeout', '600', ...features]);
    const [asked, answered] = [deferred(), deferred()];
    const onelicit = async (): Promise<{ action: 'decline' }> => {
      asked.resolve();
      await answered.promise;
      return { action: 'decline' };
    };
    const caller = await client(server.url, { eras: 'legacy', onelicit });
    const call = caller.callTool('ask');
    await asked.promise;
    const children = descendants(server.pid);
    server.child.kill('SIGTERM');
    await eventually(async () => (await server.get('/readyz')).status === 503, 'that it drains');
    expect(await (await server.get('/readyz')).json()).toEqual({
      status: 'not ready',
      problems: { process: 'draining' },
    });
    expect((await server.get('/healthz')).status).toBe(200);
    await expect(connect(server.url, { eras: 'legacy' })).rejects.toThrow(/shutting down|503|ECONNREFUSED/);
    answered.resolve();
    expect((await call).content).toEqual([{ type: 'text', text: '{"action":"decline"}' }]);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(children).not.toEqual([]);
    expect(children.filter(isAlive)).toEqual([]);
  });

  test('ends each subscription with a response', async () => {
    const server = await startBridge(features);
    const caller = await client(server.url, { eras: 'modern', restart: false });
    const subscription = await caller.subscribe({ toolsListChanged: true }, () => {});
    server.child.kill('SIGTERM');
    // A stream that breaks off would cause an error.
    expect(await subscription.closed).toBeUndefined();
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('waits no longer than the drain timeout, and ends at once after a second signal', async () => {
    for (const [options, signals, code, most] of [
      // Less than the default.
      [['--drain-timeout', '1'], 1, 0, 10_000],
      [['--drain-timeout', '600'], 2, 1, 60_000],
    ] as const) {
      const server = await startBridge([...options, ...features]);
      const caller = await client(server.url);
      let begun: (() => void) | undefined;
      const started = new Promise<void>((resolve) => (begun = resolve));
      const failed = caller.callTool('wait', {}, { onprogress: () => begun!() }).catch((error: unknown) => error);
      await started;
      const children = descendants(server.pid);
      const before = Date.now();
      server.child.kill('SIGTERM');
      if (signals === 2) {
        await eventually(async () => (await server.get('/readyz')).status === 503, 'that it drains');
        server.child.kill('SIGTERM');
      }
      expect(await server.exited).toEqual({ code, signal: null });
      expect(Date.now() - before).toBeLessThan(most);
      expect(await failed).toBeInstanceOf(Error);
      expect(children.filter(isAlive)).toEqual([]);
      await caller.close();
    }
  });
});

describe('without the optional packages', () => {
  const absent = { NODE_OPTIONS: `--import ${pathToFileURL(`${root}test/fixtures/without-optional.mjs`).href}` };

  test('a bridge works', async () => {
    const server = await startBridge(features, absent);
    const caller = await client(server.url);
    expect((await caller.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    expect((await server.get('/readyz')).status).toBe(200);
  });

  test.each([
    [['--metrics'], 'metrics need', 'prom-client'],
    [['--log-format', 'json'], 'logs in JSON need', 'pino'],
    [['--store', '/tmp/never-made'], 'a store in a directory needs', 'lmdb'],
  ])('%j says how to install what is missing', async (words, need, name) => {
    const child = startEverwire(['bridge', '--port', '0', ...words, ...features], absent);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr).toEqual([
      `everwire: ${need} the package ${name}: npm install ${name}`,
      `  if everwire is installed globally: npm install --global ${name}`,
      `  with npx: npx -p everwire -p ${name} everwire …`,
    ]);
  });

  test('a bridge says why it traces nothing although OpenTelemetry is set up', async () => {
    const setUp = "data:text/javascript,globalThis[Symbol.for('opentelemetry.js.api.1')]={}";
    const server = await startBridge(features, { NODE_OPTIONS: `${absent.NODE_OPTIONS} --import "${setUp}"` });
    expect(server.stderr.join('\n')).toContain(
      'OpenTelemetry is set up, but nothing is traced: spans need the package @opentelemetry/api: npm install @opentelemetry/api',
    );
  });

  test('createTracing names the missing package', () => {
    const module = pathToFileURL(`${root}dist/lib/operate.js`).href;
    const script = `const { createTracing } = await import('${module}'); await createTracing().catch((e) => console.log(e.message));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, ...absent },
      encoding: 'utf8',
    });
    expect(stdout).toBe('spans need the package @opentelemetry/api: npm install @opentelemetry/api\n');
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
    'Examples:',
  ]);
});
