import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { demo, features, node, runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';
import { descendants, isAlive, programs, startServer, type RunningServer } from '../support/process.ts';

/** Starts a server over HTTP. It is stopped after the test. */
async function serve(...args: string[]): Promise<RunningServer> {
  const server = await startServer(args);
  onTestFinished(async () => {
    await server.stop();
  });
  return server;
}

describe('an unreachable server causes an error', () => {
  test.each<[string, string[], RegExp]>([
    ['does not exist', ['no-such-command-anywhere'], /command not found/],
    ['exits at once', [node, '-e', 'console.error("cannot work"); process.exit(3)'], /cannot work/],
    ['prints something else', [node, '-e', 'console.log("Welcome!")'], /Welcome!|exited/],
  ])('because its command %s', async (_, command, said) => {
    const { code, stdout, stderr } = await runEverwire(['ping', '--', ...command]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(said);
  });

  test('because it sends nothing', async () => {
    const { code } = await runEverwire(['ping', '--timeout', '1', '--', node, '-e', 'setInterval(() => {}, 1000)']);
    expect(code).toBe(5);
  });
});

test('a server that does not answer is stopped when the user interrupts the command', async () => {
  const child = startEverwire(['ping', '--', node, '-e', 'console.error("up"); setInterval(() => {}, 1000)']);
  await child.line(/^up$/);
  const started = descendants(child.pid);
  expect(started).toHaveLength(1);
  child.child.kill('SIGINT');
  expect(await child.exited).toEqual({ code: 130, signal: null });
  expect(started.filter(isAlive)).toEqual([]);
});

describe('a server at a URL', () => {
  test('is used like a command', async () => {
    const { url } = await serve(...programs.everwire, 'demo', '--port', '0');
    expect(await runEverwire(['call', url, 'add', 'a=1', 'b=2'])).toEqual({ code: 0, stdout: '3', stderr: '' });
    const listed = await runEverwire(['list', url, 'tools', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({ tools: [{ name: 'add' }] });
    expect(await runEverwire(['read', url, 'greeting://Ada'])).toMatchObject({ code: 0, stdout: 'Hello, Ada!' });
  });

  test('is reached in every revision, also over HTTP+SSE', async () => {
    const { url, sseUrl } = await serve(...programs.everwire, 'demo', '--port', '0');
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
      const { code, stdout } = await runEverwire(['ping', url, '--revision', revision, '--json']);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ revision });
    }
    expect(await runEverwire(['call', sseUrl, 'add', 'a=1', 'b=2'])).toEqual({ code: 0, stdout: '3', stderr: '' });
  });

  test('notifies of changes that another client makes', async () => {
    const { url } = await serve(...programs.features, '--port', '0');
    const child = startEverwire(['listen', url, 'feature://fixed', '--tools', '--json', '--count', '2']);
    await child.line(/^listening to tools, feature:\/\/fixed$/);
    expect(await runEverwire(['call', url, 'touch', 'uri=feature://fixed'])).toMatchObject({ code: 0 });
    expect(await runEverwire(['call', url, 'grow', 'name=shrink'])).toMatchObject({ code: 0 });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout.map((line) => JSON.parse(line))).toEqual([
      { type: 'resource', uri: 'feature://fixed' },
      { type: 'tools' },
    ]);
  });

  test('gets the headers of the command line, and causes its own exit code if they are wrong', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(401, { 'content-type': 'text/plain' }).end('no');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const headers = ['--header', 'authorization: Bearer ${env:SECRET}', '--header', 'X-Other: 1'];
    const child = startEverwire(['ping', url, ...headers], { SECRET: 'hunter2' });
    expect(await child.exited).toMatchObject({ code: 4 });
    server.close();
    expect(seen[0]).toMatchObject({ authorization: 'Bearer hunter2', 'x-other': '1' });
    expect(child.stdout).toEqual([]);
    expect(child.stderr.join('\n')).toContain('401');
    expect(child.stderr.join('\n')).not.toContain('hunter2');
  });

  test('is unreachable if nothing listens there', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect(await runEverwire(['ping', `http://127.0.0.1:${port}/mcp`])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^everwire: /),
    });
  });
});

test("a server's name in mcp.json can be the target", async () => {
  const config = path.join(temporaryFolder(), 'mcp.json');
  const [, command, ...args] = demo;
  writeFileSync(config, JSON.stringify({ mcpServers: { mine: { command, args } } }));
  expect(await runEverwire(['call', 'mine', 'add', 'a=1', 'b=1', '--config', config])).toMatchObject({
    code: 0,
    stdout: '2',
  });
});

test('a failure is reported at once, also if a signal comes while the server ends', async () => {
  const script = 'sh test/fixtures/small-child.sh; echo ending >&2; exec sleep 100';
  const child = startEverwire(['read', 'x:y', '--', 'sh', '-c', script]);
  await child.line(/^ending$/);
  child.child.kill('SIGINT');
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.stderr).toEqual([expect.stringMatching(/^everwire: .*resources capability/), 'ending']);
});

test('a flood on the stderr of a command is cut, because nobody may read it', async () => {
  const child = startEverwire(['ping', '--', 'sh', '-c', 'yes 0123456789 | head -n 500000 >&2; exec sleep 100']);
  await child.line(/^\(\d+ lines were left out: the server wrote too much\)$/);
  expect(child.stderr.length).toBeLessThan(100_000);
  child.child.kill('SIGINT');
  expect(await child.exited).toEqual({ code: 130, signal: null });
});

test('a flood of log messages is cut', async () => {
  // So much that even a slow machine sends more in a second than is shown.
  const { code, stderr } = await runEverwire(['call', 'flood', 'count=1000', 'bytes=5000', ...features]);
  expect(code).toBe(0);
  const lines = stderr.split('\n');
  const omitted = lines.flatMap((line) => {
    const [, count] = /^\((\d+) lines were left out: the server wrote too much\)$/.exec(line) ?? [];
    return count === undefined ? [] : [Number(count)];
  });
  expect(omitted).not.toEqual([]);
  expect(lines.length - omitted.length + omitted.reduce((sum, count) => sum + count)).toBe(1000);
});
