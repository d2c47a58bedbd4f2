import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect as openSocket, type AddressInfo } from 'node:net';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { WORKER_VARIABLE, type WorkerPlace } from '../../src/cli/cluster/messages.ts';
import { connect as connectOfficial, type Target } from '../interop/clients.ts';
import { samples } from '../support/bridge-program.ts';
import { startEverwire, temporaryFolder } from '../support/command-line.ts';
import { descendants, eventually, isAlive, programs, type RunningServer } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';
import { connect, type Kind } from './clients.ts';
import { at, bridgeTo, World } from './world.ts';

/** `--workers`: one command, one port and one Redis, but several processes. Any of them may get any request. */

const KINDS: readonly Kind[] = ['official 1.x', 'official 2.x, 2026-07-28', 'ours, handshake'];
const PATIENT = { timeout: 30_000 };
const WORKERS = 2;

const command = findRedis();
let redis: RedisServer;
let world: World;

/** Connections go to one worker after the other, so each request uses a new one. */
async function onNewConnection(request: Request, signal = request.signal): Promise<Response> {
  const headers = new Headers(request.headers);
  headers.set('connection', 'close');
  return fetch(new Request(request, { headers, signal }));
}

const target = (server: RunningServer): Target => ({ ...at(server), fetch: onNewConnection });

function get(server: Pick<RunningServer, 'url'>, page: string): Promise<Response> {
  return onNewConnection(new Request(new URL(page, server.url)));
}

/** The samples of a metric, by the numbers of the workers. */
async function byWorker(server: Pick<RunningServer, 'url'>, metric: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [name, value] of Object.entries(await samples(await get(server, '/metrics')))) {
    if (!name.startsWith(`${metric}{`)) continue;
    const worker = /worker="(\d+)"/.exec(name)![1]!;
    found[worker] = (found[worker] ?? 0) + value;
  }
  return found;
}

const sum = (numbers: Record<string, number>): number => Object.values(numbers).reduce((a, b) => a + b, 0);

/** The workers of a command. The children of a bridge are other programs. */
function workersOf({ pid }: Pick<RunningServer, 'pid'>): number[] {
  return descendants(pid).filter((each) => cmdline(each).includes('--workers'));
}

function cmdline(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

async function serve(args: readonly string[], count = WORKERS): Promise<RunningServer> {
  const all = [...args];
  const end = all.indexOf('--');
  const own = ['--port', '0', '--store', redis.url, '--workers', String(count)];
  all.splice(end < 0 ? all.length : end, 0, ...own);
  const server = await world.serve(all);
  await eventually(() => workersOf(server).length === count, 'that all workers were started');
  return server;
}

async function allServe(server: Pick<RunningServer, 'url'>): Promise<void> {
  await expect.poll(() => byWorker(server, 'everwire_worker_up'), PATIENT).toEqual({ 1: 1, 2: 1 });
}

/** A bridge whose workers all serve. */
async function bridge(...options: string[]): Promise<RunningServer> {
  const server = await serve(bridgeTo(world.stateful, '--metrics', ...options));
  await allServe(server);
  return server;
}

// The tests look into /proc, and signals of other systems differ.
describe.skipIf(command === undefined || process.platform !== 'linux')('several workers', () => {
  beforeAll(async () => {
    redis = await startRedis(command!);
  });
  afterAll(() => redis.stop());
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.end());

  test.each(KINDS)('share the state of a client and its questions (%s)', async (kind) => {
    const server = await bridge();
    const client = await connect(kind, 'http', target(server));
    for (let calls = 1; calls <= 6; calls += 1) expect(JSON.parse(await client.call('count'))).toMatchObject({ calls });
    for (const who of ['Ada', 'Grace', 'Barbara']) {
      const greeting = client.call('greet', { who });
      (await client.asked(`Who is ${who}?`)).answer('an engineer');
      expect(await greeting).toBe(`${who} is an engineer`);
    }
    const calls = await byWorker(server, 'everwire_calls_total');
    expect(Object.keys(calls)).toEqual(['1', '2']);
    expect(sum(await byWorker(server, 'everwire_forwarded_requests_total'))).toBeGreaterThan(0);
  });

  test('tell the address once, and have one secret, which is in no command line and in no environment of a child', async () => {
    const script = `console.error(Object.keys(process.env).filter((name) => /^(EVERWIRE|NODE_(UNIQUE|CHANNEL))/.test(name)).join() + '.');
      process.argv.push('--stdio');
      import(${JSON.stringify(programs.features[0])});`;
    const server = await serve([...programs.everwire, 'bridge', '--', process.execPath, '-e', script]);
    await eventually(() => server.stderr.filter((line) => line === '.').length === WORKERS, 'two children');
    expect(server.stderr.filter((line) => line.includes('listening on'))).toHaveLength(1);
    expect(server.stderr.filter((line) => line.includes('serving server='))).toHaveLength(1);
    const commands = [server.pid, ...workersOf(server)].map((pid) => cmdline(pid).split('\0').slice(1));
    expect(commands).toHaveLength(1 + WORKERS);
    for (const each of commands) expect(each.slice(1)).toEqual(commands[0]!.slice(1));
  });

  test('a session of the official client goes on when its worker is killed, and another worker replaces that', async () => {
    const server = await serve([...programs.everwire, 'demo']);
    let opened = 0;
    const counting = async (request: Request): Promise<Response> => {
      if ((await request.clone().text()).includes('"initialize"')) opened += 1;
      return onNewConnection(request);
    };
    const client = await connectOfficial('sdk 1.x', 'http', { ...at(server), fetch: counting });
    onTestFinished(() => client.close().catch(() => {}));
    const add = async (): Promise<unknown> =>
      (await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } }))['structuredContent'];
    expect(await add()).toEqual({ result: 3 });
    for (let killed = 0; killed < 2; killed += 1) {
      const before = workersOf(server);
      process.kill(before[0]!, 'SIGKILL');
      await eventually(() => !isAlive(before[0]!), 'the end of the worker');
      await eventually(() => workersOf(server).filter((pid) => !before.includes(pid)).length === 1, 'another worker');
      for (let calls = 0; calls < 4; calls += 1) expect(await add()).toEqual({ result: 3 });
    }
    expect(opened).toBe(1);
    expect(server.stderr.filter((line) => line.includes('listening on'))).toHaveLength(1);
  });

  test('if a worker is killed, all calls end, and clients can call again', async () => {
    const server = await bridge();
    const clients = await Promise.all(
      Array.from({ length: 6 }, (_, n) => connect('official 1.x', 'http', target(server), `client ${n}`)),
    );
    const gate = world.gate();
    const calls = clients.map((client) => client.begin('count', { gate: gate.name }));
    await Promise.all(calls.map(({ begun }) => begun));
    process.kill(workersOf(server)[0]!, 'SIGKILL');
    await server.line(/^everwire: worker \d ended with SIGKILL; another one replaces it$/);
    gate.open();
    // A call goes on only if neither its worker nor that with the connection of its client was killed.
    await Promise.allSettled(calls.map(({ text }) => text));
    await expect.poll(() => byWorker(server, 'everwire_worker_up'), PATIENT).toEqual({ 1: 1, 2: 1 });
    for (const client of clients) expect(JSON.parse(await client.call('count')).calls).toBeGreaterThan(0);
  });

  test('if all workers are killed, others serve on the same port', async () => {
    const server = await serve([...programs.everwire, 'demo']);
    const before = workersOf(server);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await eventually(() => before.every((pid) => !isAlive(pid)), 'the end of the workers');
    await eventually(() => workersOf(server).length === WORKERS, 'other workers');
    expect((await get(server, '/mcp')).status).toBe(400);
    expect(server.stderr.filter((line) => line.includes('listening on'))).toHaveLength(1);
  });

  test('a connection that waits for a worker is served by another one when that is killed', async () => {
    const server = await serve([...programs.everwire, 'demo']);
    const [frozen] = workersOf(server);
    process.kill(frozen!, 'SIGSTOP');
    onTestFinished(() => void (isAlive(frozen!) && process.kill(frozen!, 'SIGKILL')));
    const statuses = Array.from({ length: 10 }, async () => (await get(server, '/mcp')).status);
    // The frozen worker has one of them, and the other worker serves the rest.
    let answered = 0;
    for (const status of statuses) void status.then(() => (answered += 1));
    await eventually(() => answered === 9, 'that the rest was served');
    process.kill(frozen!, 'SIGKILL');
    expect(await Promise.all(statuses)).toEqual(Array.from({ length: 10 }, () => 400));
  });

  test('connections that come while there is no worker wait for one', async () => {
    const server = await serve([...programs.everwire, 'demo']);
    const before = workersOf(server);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await eventually(() => before.every((pid) => !isAlive(pid)), 'the end of the workers');
    const responses = await Promise.all(Array.from({ length: 20 }, () => get(server, '/mcp')));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 400));
  });

  test('workers that are killed all the time leave no descriptor open in the parent', async () => {
    const server = await serve([...programs.everwire, 'demo']);
    const open = (): number => readdirSync(`/proc/${server.pid}/fd`).length;
    const before = open();
    for (let round = 0; round < 3; round += 1) {
      const [victim] = workersOf(server);
      const all = Array.from({ length: 50 }, () => get(server, '/mcp').catch(() => undefined));
      process.kill(victim!, 'SIGKILL');
      await Promise.all(all);
      await eventually(() => workersOf(server).filter((pid) => pid !== victim).length === WORKERS, 'another worker');
    }
    await expect.poll(open, PATIENT).toBeLessThanOrEqual(before);
  });

  test('after all workers were killed, one that is killed is replaced again', async () => {
    const server = await bridge();
    const killed = workersOf(server);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await eventually(() => killed.every((pid) => !isAlive(pid)), 'the end of the workers');
    await allServe(server);
    const one = workersOf(server)[0]!;
    process.kill(one, 'SIGKILL');
    await eventually(() => !isAlive(one), 'the end of the worker');
    await allServe(server);
  });

  test('SIGTERM lets calls in flight finish, and ends everything with code 0', async () => {
    const server = await bridge('--drain-timeout', '60');
    const clients = await Promise.all(
      Array.from({ length: 4 }, (_, n) => connect('official 1.x', 'http', target(server), `client ${n}`)),
    );
    const gate = world.gate();
    const calls = clients.map((client) => client.begin('count', { gate: gate.name }));
    await Promise.all(calls.map(({ begun }) => begun));
    const all = descendants(server.pid);
    server.child.kill('SIGTERM');
    await eventually(async () => (await get(server, '/readyz')).status === 503, 'that it is not ready');
    gate.open();
    for (const { text } of calls) expect(JSON.parse(await text)).toMatchObject({ calls: 1 });
    expect(await server.exited).toEqual({ code: 0, signal: null });
    await eventually(() => all.every((pid) => !isAlive(pid)), 'the end of all processes');
    expect(server.stderr.join('\n')).not.toContain('another one replaces it');
  });

  test('a signal of a terminal reaches all processes, and is no second one', async () => {
    const server = await bridge('--drain-timeout', '60');
    const client = await connect('official 1.x', 'http', target(server));
    const gate = world.gate();
    const call = client.begin('count', { gate: gate.name });
    await call.begun;
    for (const pid of [server.pid, ...workersOf(server)]) process.kill(pid, 'SIGINT');
    await eventually(
      async () =>
        (await get(server, '/readyz').then(
          ({ status }) => status,
          () => 503,
        )) === 503,
      'that it is not ready',
    );
    gate.open();
    expect(JSON.parse(await call.text)).toMatchObject({ calls: 1 });
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('a second signal ends everything at once', async () => {
    const server = await bridge('--drain-timeout', '600');
    const client = await connect('official 1.x', 'http', target(server));
    const { begun } = client.begin('never');
    await begun;
    const all = descendants(server.pid);
    server.child.kill('SIGTERM');
    await eventually(async () => (await get(server, '/readyz')).status === 503, 'that it is not ready');
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 1, signal: null });
    await eventually(() => all.every((pid) => !isAlive(pid)), 'the end of all processes');
  });

  test('if the parent is killed, the workers and their children end', async () => {
    const server = await bridge();
    const client = await connect('official 1.x', 'http', target(server));
    await client.call('count');
    const all = descendants(server.pid);
    expect(all.length).toBeGreaterThan(WORKERS);
    server.child.kill('SIGKILL');
    await eventually(() => all.every((pid) => !isAlive(pid)), 'the end of all processes');
  });

  test('if the parent has ended before a worker has started, that ends, too', async () => {
    const place: WorkerPlace = { number: 1, announces: false, port: 1, stateKey: 'k'.repeat(32) };
    const args = ['demo', '--port', '0', '--store', redis.url, '--workers', String(WORKERS)];
    const env = { ...process.env, [WORKER_VARIABLE]: JSON.stringify(place) };
    const worker = fork(programs.everwire[0], args, {
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
    });
    onTestFinished(() => void worker.kill('SIGKILL'));
    // As if the parent had been killed: the channel is closed.
    worker.disconnect();
    expect(await once(worker, 'exit')).toEqual([0, null]);
  });

  test('metrics are those of all workers in each answer, and counters do not go back', async () => {
    const server = await bridge();
    const client = await connect('official 1.x', 'http', target(server));
    let before = await byWorker(server, 'everwire_tool_calls_total');
    for (let calls = 1; calls <= 6; calls += 1) {
      await client.call('count');
      const now = await byWorker(server, 'everwire_tool_calls_total');
      expect(sum(now)).toBe(calls);
      for (const [worker, count] of Object.entries(before)) expect(now[worker]).toBeGreaterThanOrEqual(count);
      before = now;
    }
    expect(Object.keys(await byWorker(server, 'process_resident_memory_bytes'))).toEqual(['1', '2']);
    const frozen = workersOf(server)[0]!;
    process.kill(frozen, 'SIGSTOP');
    onTestFinished(() => void (isAlive(frozen) && process.kill(frozen, 'SIGCONT')));
    // The frozen worker may get the connection, and then does not answer.
    const up = async () => {
      const response = await fetch(new URL('/metrics', server.url), {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(5000),
      }).catch(() => undefined);
      return response && sum(pick(await samples(response)));
    };
    await expect.poll(up, PATIENT).toBe(1);
    process.kill(frozen, 'SIGCONT');
    await expect.poll(up, PATIENT).toBe(2);
  });

  test('each follows the changes of a configuration', async () => {
    const file = path.join(temporaryFolder(), 'mcp.json');
    const entry = { command: process.execPath, args: [...programs.features, '--stdio'] };
    writeFileSync(file, JSON.stringify({ mcpServers: { one: entry } }));
    const server = await serve([...programs.everwire, 'bridge', '--metrics', '--config', file]);
    await allServe(server);
    const client = await connectOfficial('client 2.x modern', 'http', target(server));
    onTestFinished(() => client.close().catch(() => {}));
    writeFileSync(file, JSON.stringify({ mcpServers: { one: entry, two: entry } }));
    await eventually(
      () => server.stderr.filter((line) => line.includes('was reloaded')).length === WORKERS,
      'that both have read it again',
    );
    for (let calls = 0; calls < 4; calls += 1)
      expect(await client.callTool({ name: 'two__echo', arguments: { text: 'here' } })).toMatchObject({
        content: [{ type: 'text', text: 'here' }],
      });
  });

  test('lines of the log are whole', async () => {
    const server = startEverwire([
      ...['bridge', '--port', '0', '--store', redis.url, '--workers', '2', '--log-format', 'json', '--metrics'],
      ...['--', process.execPath, ...programs.features, '--stdio'],
    ]);
    const [, url] = await server.line(/"url":"([^"]+)"/);
    await allServe({ url: url! });
    const client = await connectOfficial('client 2.x modern', 'http', {
      stdio: [],
      sseUrl: '',
      url: url!,
      fetch: onNewConnection,
    });
    onTestFinished(() => client.close().catch(() => {}));
    const text = 'x'.repeat(100);
    await Promise.all(Array.from({ length: 100 }, () => client.callTool({ name: 'echo', arguments: { text } })));
    expect(await server.stop(30_000)).toEqual({ code: 0, signal: null });
    const lines = server.stderr.map((line) => JSON.parse(line));
    expect(lines.filter(({ method }) => method === 'tools/call')).toHaveLength(100);
    expect(new Set(lines.map(({ pid }) => pid)).size).toBeGreaterThan(1);
  });

  test('a worker for which there is no file descriptor is started when there is one again', async () => {
    const server = await bridge();
    const files = (limit: string): void =>
      void execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${limit}:`]);
    files('10');
    process.kill(workersOf(server)[0]!, 'SIGKILL');
    const [, why] = await server.line(/worker [12] cannot be started now: (.*)$/);
    expect(why).toContain('EMFILE');
    expect(isAlive(server.pid)).toBe(true);
    files('1000');
    await allServe(server);
    expect(await server.stop(30_000)).toEqual({ code: 0, signal: null });
  });

  test('connections that wait for a worker and have all file descriptors do not keep a worker from being started', async () => {
    const server = await serve([...programs.everwire, 'demo']);
    const before = workersOf(server);
    execFileSync('prlimit', ['--pid', String(server.pid), '--nofile=60:']);
    for (const pid of before) process.kill(pid, 'SIGSTOP');
    const { port } = new URL(server.url);
    const idle = Array.from({ length: 100 }, () => openSocket(Number(port), '127.0.0.1').on('error', () => {}));
    onTestFinished(() => idle.forEach((socket) => void socket.destroy()));
    // The system refuses those for which there is no descriptor.
    await eventually(() => idle.some(({ closed }) => closed), 'that no descriptor is free');
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await server.line(/worker [12] cannot be started now: .*EMFILE$/);
    await expect.poll(() => get(server, '/mcp').then(({ status }) => status, String), PATIENT).toBe(400);
    await eventually(() => workersOf(server).length === WORKERS, 'other workers');
  });

  test('a worker that hangs does not keep the command from ending', async () => {
    const server = await bridge('--drain-timeout', '1');
    const [hanging] = workersOf(server);
    process.kill(hanging!, 'SIGSTOP');
    onTestFinished(() => {
      if (isAlive(hanging!)) process.kill(hanging!, 'SIGKILL');
    });
    server.child.kill('SIGTERM');
    await server.line(/worker [12] did not end in time, so it was killed$/);
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(isAlive(hanging!)).toBe(false);
  });

  test('if the first worker fails, the command ends with its error', async () => {
    const options = ['--port', '0', '--store', redis.url, '--workers', '2'];
    const server = startEverwire(['bridge', ...options, '--', 'no-such-command']);
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stderr).toEqual([expect.stringMatching(/^everwire: no-such-command did not start as an MCP server/)]);
  });

  test('a port that is in use is an error, once', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const server = startEverwire(['demo', '--port', String(port), '--store', redis.url, '--workers', '4']);
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stderr).toEqual([expect.stringMatching(new RegExp(`^everwire: port ${port} .*already in use`))]);
  });
});

/** Whether each worker has answered. */
function pick(all: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith('everwire_worker_up')));
}
