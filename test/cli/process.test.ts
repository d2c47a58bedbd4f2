import { afterEach, describe, expect, test } from 'vitest';
import { commandTarget, nameOf } from '../../src/cli/target.ts';
import { connect } from '../interop/clients.ts';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  startNode,
  startServer,
  type RunningProcess,
} from '../support/process.ts';

const running: RunningProcess[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

function start(...args: string[]): RunningProcess {
  const child = startNode([...programs.everwire, ...args]);
  running.push(child);
  return child;
}

function lines(...messages: object[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('');
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const bridge = (child: readonly string[], ...options: string[]): string[] => [
  'bridge',
  ...options,
  '--',
  process.execPath,
  ...child,
];

describe('over HTTP', () => {
  test('prints its address, and how to configure a client', async () => {
    const child = start('demo', '--port', '0', '--path', '/here');
    await child.line(/^}$/);
    const [listening, sse, , ...configuration] = child.stderr;
    const url = /^everwire: listening on (http:\/\/127\.0\.0\.1:\d+\/here)$/.exec(listening!)?.[1];
    expect(url).toBeDefined();
    expect(sse).toContain(new URL('/sse', url).href);
    expect(JSON.parse(configuration.join('\n'))).toEqual({ mcpServers: { demo: { type: 'http', url } } });
    expect(child.stdout).toEqual([]);

    const target = { stdio: [], url: url!, sseUrl: new URL('/sse', url).href };
    for (const transport of ['http', 'sse'] as const) {
      const client = await connect('sdk 1.x', transport, target);
      expect(await client.methods.ping()).toEqual({});
      await client.close();
    }
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s ends it quickly, even with a connected client',
    async (signal) => {
      const server = await startServer([...programs.everwire, 'demo', '--port', '0']);
      running.push(server);
      const target = { stdio: [], url: server.url, sseUrl: server.sseUrl };
      const clients = [await connect('sdk 1.x', 'http', target), await connect('sdk 1.x', 'sse', target)];
      const before = Date.now();
      server.child.kill(signal);
      expect(await server.exited).toEqual({ code: 0, signal: null });
      // The time that requests in flight get.
      expect(Date.now() - before).toBeLessThan(5000);
      for (const client of clients) await client.close().catch(() => {});
    },
  );

  test.each([
    ['with a child for each client', []],
    ['with one child for all', ['--shared']],
  ])('SIGTERM ends a bridge and its children, %s', async (_, options) => {
    const server = await startServer([
      ...programs.everwire,
      ...bridge([...programs.features, '--stdio'], '--port', '0', '--drain-timeout', '1', ...options),
    ]);
    running.push(server);
    const target = { stdio: [], url: server.url, sseUrl: server.sseUrl };
    const clients = [await connect('sdk 1.x', 'http', target), await connect('sdk 1.x', 'sse', target)];
    // One of them during a call.
    const answer = clients[0]!.callTool({ name: 'wait' }, { onprogress: () => server.child.kill('SIGTERM') });
    const failed = answer.then(
      () => 'answered',
      () => 'failed',
    );
    const children = descendants(server.pid);
    expect(children).toHaveLength(options.length === 0 ? 2 : 1);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(children.filter(isAlive)).toEqual([]);
    await Promise.all(clients.map((client) => client.close().catch(() => {})));
    expect(await failed).toBe('failed');
  });
});

test.each([
  ['SIGINT', '--port=0'],
  ['SIGTERM', '--port=0'],
  ['SIGINT', '--stdio'],
  ['SIGTERM', '--stdio'],
] as const)(
  '%s during the start of a bridge with %s is no failure, and leaves no process of its server behind',
  async (signal, option) => {
    const code = `
      process.stdin.once('data', () => {
        require('child_process').spawn('sleep', ['60']);
        console.error('up');
        setInterval(() => {}, 1000);
      })`;
    const child = start(...bridge(['-e', code], option));
    if (option === '--stdio') child.child.stdin!.write(lines(initialize));
    await child.line(/^up$/);
    const tree = descendants(child.pid);
    expect(tree.length).toBeGreaterThan(1);
    child.child.kill(signal);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    // On a busy machine, the bridge has waited long enough to say so.
    expect(child.stderr.filter((line) => !line.includes('has not answered yet'))).toEqual(['up']);
    expect(tree.filter(isAlive)).toEqual([]);
  },
);

test("a server's stderr line that looks like one of this program gets the name of the server", async () => {
  const code = "console.error('everwire: all is well'); console.error('mine')";
  const child = start('ping', '--', process.execPath, '-e', code);
  await child.exited;
  expect(child.stderr[0]).toMatch(/^.+: everwire: all is well$/);
  expect(child.stderr[1]).toBe('mine');
});

test.skipIf(process.platform === 'win32')('a server ends with its command, even after SIGKILL', async () => {
  const code = "process.on('SIGTERM', () => {}); console.error('up'); setInterval(() => {}, 1000)";
  const child = start('ping', '--', process.execPath, '-e', code);
  await child.line(/^up$/);
  const tree = descendants(child.pid);
  expect(tree.length).toBeGreaterThan(0);
  child.child.kill('SIGKILL');
  await eventually(() => !tree.some(isAlive), 'the end of the server', 10_000);
});

test('a command that npm started ends when the shell between them is killed', async () => {
  const command = [process.execPath, ...programs.everwire, 'demo', '--port', '0'].map((part) => JSON.stringify(part));
  const code = `require('child_process').spawn('sh', ['-c', ${JSON.stringify(`${command.join(' ')}; true`)}], { stdio: 'inherit' })`;
  const child = startNode(['-e', code], { npm_lifecycle_event: 'start' });
  running.push(child);
  await child.line(/listening/);
  const [shell, server] = descendants(child.pid);
  process.kill(shell!, 'SIGKILL');
  await eventually(() => !isAlive(server!), 'the end of the server', 5000);
});

test.each([
  [['npx', '-y', '@scope/server-thing@1.2', 'stdio'], 'server-thing'],
  [['node', 'build/weather.js'], 'weather'],
  [['deno', 'run', '-A', 'build/weather.js'], 'weather'],
  [['deno', 'run', '-A', 'npm:@scope/server-thing@1.2'], 'server-thing'],
  [['bun', 'run', 'weather.ts'], 'weather'],
  [['cmd', '/c', 'npx', '-y', '@scope/server-thing@1.2'], 'server-thing'],
  [['cmd.exe', '/C', 'weather.cmd'], 'weather'],
])('the printed client configuration names the server of %j', (command, name) => {
  expect(nameOf(commandTarget(command))).toBe(name);
});

test('the printed client configuration has the name that the server gives itself, and the header for --bearer', async () => {
  const child = start(
    ...bridge([...programs.everwire, 'demo', '--stdio'], '--port', '0', '--bearer', 'a-token-of-a-test'),
  );
  await child.line(/serving server=/);
  const printed = child.stderr.join('\n');
  expect(JSON.parse(printed.slice(printed.indexOf('{'), printed.lastIndexOf('}') + 1))).toMatchObject({
    mcpServers: { Demo: { type: 'http', headers: { Authorization: 'Bearer <token>' } } },
  });
});

describe('over stdio', () => {
  test('only messages are on stdout, and requests in flight are answered at the end of stdin', async () => {
    const calls = Array.from({ length: 50 }, (_, id) => {
      return { jsonrpc: '2.0', id: id + 1, method: 'tools/call', params: { name: 'add', arguments: { a: id, b: 1 } } };
    });
    const child = start('demo', '--stdio');
    child.child.stdin!.end(lines(initialize, initialized, ...calls));
    expect(await child.exited).toEqual({ code: 0, signal: null });
    const answers = child.stdout.map((line) => JSON.parse(line));
    expect(answers.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 51 }, (_, id) => id));
    expect(answers.find(({ id }) => id === 50).result.structuredContent).toEqual({ result: 50 });
    expect(child.stderr).toEqual([]);
  });

  test('a bridge answers requests in flight when stdin ends, and leaves no child behind', async () => {
    const child = start(...bridge([...programs.features, '--stdio'], '--stdio'));
    const sleep = { name: 'sleep', arguments: { ms: 300 }, _meta: { progressToken: 'begun' } };
    child.child.stdin!.write(
      lines(initialize, initialized, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: sleep }),
    );
    await expect.poll(() => child.stdout.join('\n'), { timeout: 10_000 }).toContain('notifications/progress');
    const children = descendants(child.pid);
    expect(children).toHaveLength(1);
    child.child.stdin!.end();
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(JSON.parse(child.stdout.at(-1)!)).toMatchObject({ id: 1, result: { content: [{ text: 'slept 300 ms' }] } });
    expect(children.filter(isAlive)).toEqual([]);
  });

  test('a bridge whose child never answers ends after stdin and its drain time', async () => {
    const silent = ['-e', "process.stdin.on('data', () => console.error('heard')); setInterval(() => {}, 1000)"];
    const child = start(...bridge(silent, '--stdio', '--drain-timeout', '0.3'));
    child.child.stdin!.write(lines(initialize));
    await child.line(/heard/);
    const children = descendants(child.pid);
    child.child.stdin!.end();
    expect(await child.exited).toMatchObject({ signal: null });
    expect(children.filter(isAlive)).toEqual([]);
  });

  test('SIGTERM ends a bridge and its child', async () => {
    const child = start(...bridge([...programs.features, '--stdio'], '--stdio'));
    child.child.stdin!.write(lines(initialize, initialized));
    await expect.poll(() => child.stdout.length, { timeout: 10_000 }).toBe(1);
    const children = descendants(child.pid);
    expect(children).toHaveLength(1);
    child.child.kill('SIGTERM');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(children.filter(isAlive)).toEqual([]);
  });

  test('SIGTERM ends a bridge soon, although the client reads nothing', async () => {
    const code = `
      const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
      const serverInfo = { name: 'test', version: '1' };
      require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (method === 'initialize')
          send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
        if (method === 'server/discover') send({ id, error: { code: -32601, message: 'unknown' } });
        if (method === 'tools/call') {
          send({ id, result: { content: [{ type: 'text', text: 'x'.repeat(4_000_000) }] } });
          send({ id: 'after the result', method: 'ping' });
        }
        if (id === 'after the result') console.error('answered');
      });`;
    const child = start(...bridge(['-e', code], '--stdio'));
    child.child.stdin!.write(lines(initialize, initialized));
    await expect.poll(() => child.stdout.length, { timeout: 30_000 }).toBe(1);
    child.child.stdout!.pause();
    child.child.stdin!.write(lines({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'long' } }));
    await child.line(/answered/);
    const children = descendants(child.pid);
    const ended = new Promise((resolve) => child.child.once('exit', (exitCode) => resolve(exitCode)));
    const before = performance.now();
    child.child.kill('SIGTERM');
    expect(await ended).toBe(0);
    // Whoever ends stdin in place of a signal has 10 seconds to read.
    expect(performance.now() - before).toBeLessThan(9000);
    expect(children.filter(isAlive)).toEqual([]);
    child.child.stdout!.resume();
  });

  test('an invalid line is answered with a parse error', async () => {
    const child = start('demo', '--stdio');
    child.child.stdin!.end(`hello\n${lines(initialize)}`);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout.map((line) => JSON.parse(line))).toEqual([
      { jsonrpc: '2.0', error: expect.objectContaining({ code: -32700 }) },
      expect.objectContaining({ id: 0, result: expect.anything() }),
    ]);
  });
});
