import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { notification, request, resultResponse } from '../../jsonrpc/message.ts';
import { stdioServerTransport } from './server.ts';

const SERVER = fileURLToPath(new URL('server.ts', import.meta.url));
let bundle: string;

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [SERVER],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  bundle = outputFiles[0]?.text.replace(/export \{[^}]*\};?\s*$/, '') ?? '';
});

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/**
 * A process that serves `stdioServerTransport` with the given code for a message. `transport` and `message` are in
 * scope.
 */
function serve(handle: string, { after = '', stdio = 'pipe' }: { after?: string; stdio?: StdioOptions } = {}) {
  const script = `${bundle}
    const transport = stdioServerTransport();
    transport.onerror = (error) => process.stderr.write('onerror: ' + error.message + '\\n');
    transport.onclose = () => { ${after} };
    transport.onmessage = (message) => { ${handle} };
    await transport.start();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio });
  children.push(child);
  return {
    child,
    write: (...messages: unknown[]) =>
      child.stdin?.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    stdout: child.stdout ? text(child.stdout).catch(() => 'broken off') : Promise.resolve(''),
    stderr: child.stderr ? text(child.stderr) : Promise.resolve(''),
    exit: once(child, 'exit'),
  };
}

const messages = (output: string): any[] =>
  output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

test('output of handlers goes to stderr, and to stdout again after the connection is closed', async () => {
  const server = serve(
    `console.log('log'); console.info('info'); console.debug('debug'); console.table([['table']]);
     process.stdout.write('direct'); process.stdout.write(Buffer.from(' bytes\\n'), () => {
       void transport.send({ jsonrpc: '2.0', id: message.id, result: {} });
     });`,
    { after: "process.stdout.write('after\\n');" },
  );
  server.write(request(1, 'a'));
  server.child.stdin?.end();
  expect(await server.stdout).toBe(`${JSON.stringify(resultResponse(1, {}))}\nafter\n`);
  expect(await server.stderr).toMatch(/^log\ninfo\ndebug\n[^]*table[^]*direct bytes\n$/);
});

test('at the end of stdin all requests in flight are answered, and the process exits', async () => {
  const server = serve(
    `setTimeout(() => void transport.send({ jsonrpc: '2.0', id: message.id, result: { text: 'x'.repeat(10000) } }), message.id % 7 * 10);`,
  );
  server.write(...Array.from({ length: 200 }, (_, id) => request(id, 'a')));
  server.child.stdin?.end();
  const answers = messages(await server.stdout);
  expect(answers.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, id) => id));
  expect(await server.exit).toEqual([0, null]);
  expect(await server.stderr).toBe('');
});

test('a request in flight keeps the process alive until it is answered', async () => {
  // Nothing else does: an unreferenced timer does not keep a process alive.
  const server = serve(
    `setTimeout(() => void transport.send({ jsonrpc: '2.0', id: message.id, result: {} }), 300).unref();`,
  );
  server.write(request(1, 'a'));
  server.child.stdin?.end();
  expect(messages(await server.stdout)).toEqual([resultResponse(1, {})]);
  expect(await server.exit).toEqual([0, null]);
});

test('a client that reads late gets everything', async () => {
  const server = serve(
    `void transport.send({ jsonrpc: '2.0', id: message.id, result: { text: 'x'.repeat(100000) } });`,
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  // Nothing reads from the pipe before that, and a pipe holds much less.
  server.child.stdout?.pause();
  server.write(...Array.from({ length: 50 }, (_, id) => request(id, 'a')));
  server.child.stdin?.end();
  await new Promise((resolve) => setImmediate(resolve));
  server.child.stdout?.resume();
  expect(messages(await server.stdout).map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, id) => id));
  expect(await server.exit).toEqual([0, null]);
});

test('the process exits when the transport is closed, even if stdin is open', async () => {
  const server = serve(`void transport.send({ jsonrpc: '2.0', method: 'bye' }); void transport.close();`);
  server.write(notification('close'));
  expect(messages(await server.stdout)).toEqual([notification('bye')]);
  expect(await server.exit).toEqual([0, null]);
});

test('a client that has exited ends only its connection', async () => {
  const server = serve(
    `setImmediate(() => { transport.send({ jsonrpc: '2.0', id: message.id, result: {} }).catch(() => {}); });`,
    {
      after: "process.stderr.write('closed\\n');",
    },
  );
  server.child.stdout?.destroy();
  server.write(request(1, 'a'));
  await server.exit;
  expect(await server.stderr).toMatch(/^onerror: .*EPIPE\nclosed\n$/);
  expect(server.child.exitCode).toBe(0);
});

test('stdin and stdout may be files', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'everwire-'));
  await writeFile(join(dir, 'in'), `${JSON.stringify(request(1, 'a'))}\nnonsense\n${JSON.stringify(request(2, 'a'))}`);
  const [stdin, stdout] = [await open(join(dir, 'in')), await open(join(dir, 'out'), 'w')];
  const server = serve(`void transport.send({ jsonrpc: '2.0', id: message.id, result: {} });`, {
    stdio: [stdin.fd, stdout.fd, 'ignore'],
  });
  expect(await server.exit).toEqual([0, null]);
  await Promise.all([stdin.close(), stdout.close()]);
  expect(messages(await readFile(join(dir, 'out'), 'utf8'))).toMatchObject([
    resultResponse(1, {}),
    { error: { code: -32700 } },
    resultResponse(2, {}),
  ]);
  await rm(dir, { recursive: true });
});

test('other streams can replace stdin and stdout, and are not closed', async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const original = process.stdout.write;
  const transport = stdioServerTransport({ stdin, stdout });
  await transport.start();
  expect(process.stdout.write).toBe(original);
  await transport.send(notification('n'));
  await transport.close();
  expect(stdout.writableEnded).toBe(false);
  expect(String(stdout.read())).toBe(`${JSON.stringify(notification('n'))}\n`);
});
