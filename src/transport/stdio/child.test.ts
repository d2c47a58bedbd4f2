import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { nextTurn } from '../../base/wait.ts';
import { notification, request, resultResponse, type JsonObject, type Message } from '../../jsonrpc/message.ts';
import { childTransport, type ChildOptions, type ChildTransport } from './child.ts';

const CHILD = fileURLToPath(new URL('../../../test/fixtures/child.mjs', import.meta.url));

const opened: ChildTransport[] = [];
const strangers: number[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
  for (const pid of strangers.splice(0)) if (runs(pid)) process.kill(pid, 'SIGKILL');
});

class Peer {
  readonly transport: ChildTransport;
  readonly received: Message[] = [];
  readonly log: string[] = [];
  readonly closed: Promise<void>;
  #lastId = 0;
  readonly #waiting = new Map<unknown, (result: JsonObject) => void>();

  constructor(options: Partial<ChildOptions> = {}) {
    const transport = childTransport({ command: process.execPath, args: [CHILD], stderr: 'capture', ...options });
    this.transport = transport;
    opened.push(transport);
    transport.onmessage = (message) => {
      this.received.push(message);
      this.#waiting.get(message.id)?.(message.result);
    };
    transport.onerror = (error) => this.log.push(`error: ${error.message}`);
    transport.onexit = ({ code, signal }) => this.log.push(`exit: ${code ?? signal}`);
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.log.push('close');
        resolve();
      };
    });
  }

  static async start(options?: Partial<ChildOptions>): Promise<Peer> {
    const peer = new Peer(options);
    await peer.transport.start();
    return peer;
  }

  /** The child's response. */
  async ask(method: string, params?: JsonObject): Promise<JsonObject> {
    const id = ++this.#lastId;
    const result = new Promise<JsonObject>((resolve) => this.#waiting.set(id, resolve));
    await this.transport.send(request(id, method, params));
    return result;
  }

  /** Sends a request that gets no response. */
  tell(method: string, params?: JsonObject): Promise<void> {
    return this.transport.send(notification(method, params));
  }

  get pid(): number {
    return this.transport.pid as number;
  }
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // In a container without an init, an exited process that nobody reaps still exists but does not run.
  return process.platform !== 'linux' || !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

test.each([0, -1, Number.NaN])('a memory limit of %d bytes is refused', (maxMemory) => {
  expect(() => childTransport({ command: 'x', maxMemory })).toThrow(
    new TypeError('maxMemory must be a number of bytes'),
  );
});

describe('starting', () => {
  test('a missing command is reported in one sentence', async () => {
    const { transport, log } = new Peer({ command: 'no-such-command-here' });
    await expect(transport.start()).rejects.toThrow(
      /^Cannot start no-such-command-here: command not found in any folder of PATH$/,
    );
    await expect(transport.send(notification('n'))).rejects.toThrow('command not found');
    expect(transport.pid).toBeUndefined();
    expect(log).toEqual([]);
    await transport.close();
    expect(log).toEqual(['close']);
  });

  test('a command that is not executable, a missing directory and an invalid argument are reported', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'everwire-'));
    const file = join(dir, 'plain.txt');
    await writeFile(file, 'text');
    await chmod(file, 0o644);
    await expect(new Peer({ command: file }).transport.start()).rejects.toThrow(
      `Cannot start ${file}: it is not executable`,
    );
    await expect(new Peer({ cwd: join(dir, 'none') }).transport.start()).rejects.toThrow(
      `there is no directory ${join(dir, 'none')}`,
    );
    await expect(new Peer({ args: ['\0'] }).transport.start()).rejects.toThrow(
      /^Cannot start .* contains a null character$/,
    );
    await rm(dir, { recursive: true });
  });

  test('the child gets the environment of this process with additions, and the given directory', async () => {
    vi.stubEnv('EVERWIRE_INHERITED', 'yes');
    vi.stubEnv('EVERWIRE_REMOVED', 'yes');
    const dir = await realpath(tmpdir());
    const peer = await Peer.start({ env: { EVERWIRE_ADDED: 'too', EVERWIRE_REMOVED: undefined }, cwd: dir });
    expect(await peer.ask('env', { name: 'EVERWIRE_INHERITED' })).toEqual({ value: 'yes', cwd: dir });
    expect(await peer.ask('env', { name: 'EVERWIRE_ADDED' })).toMatchObject({ value: 'too' });
    expect(await peer.ask('env', { name: 'EVERWIRE_REMOVED' })).toMatchObject({ value: null });
    vi.unstubAllEnvs();
  });

  test('happens once, and not after close', async () => {
    const peer = await Peer.start();
    await expect(peer.transport.start()).rejects.toThrow('already been started');
    const closed = new Peer();
    await closed.transport.close();
    await expect(closed.transport.start()).rejects.toThrow('closed');
  });

  test('can be interrupted by close', async () => {
    const peer = new Peer();
    const started = peer.transport.start();
    await peer.transport.close();
    await started;
    expect(peer.log.at(-1)).toBe('close');
    expect(runs(peer.pid)).toBe(false);
  });
});

describe('closing', () => {
  test('a child that exits when its stdin closes gets no signal', async () => {
    const peer = await Peer.start();
    expect(await peer.ask('echo', { text: 'ä\n' })).toEqual({ text: 'ä\n' });
    const { pid } = peer;
    await Promise.all([peer.transport.close(), peer.transport.close()]);
    expect(peer.log).toEqual(['exit: 0', 'close']);
    expect(peer.transport.exit).toEqual({ code: 0, signal: null });
    expect([peer.transport.closeReason, runs(pid)]).toEqual([undefined, false]);
    await expect(peer.tell('echo')).rejects.toThrow('closed');
  });

  test('a child that does not exit gets SIGTERM, then SIGKILL', async () => {
    const peer = await Peer.start({ stopTimeout: 50, killTimeout: 100 });
    await peer.ask('deaf');
    const { pid } = peer;
    await peer.transport.close();
    expect([peer.log, runs(pid)]).toEqual([['exit: SIGTERM', 'close'], false]);

    const stubborn = await Peer.start({ stopTimeout: 50, killTimeout: 100 });
    await stubborn.ask('stubborn');
    await stubborn.transport.close();
    expect([stubborn.log, runs(stubborn.pid)]).toEqual([['exit: SIGKILL', 'close'], false]);
  });

  test.each([
    ['', {}],
    [' that ignores SIGTERM', { stubborn: true }],
    [' that holds stdout', { hold: true }],
  ])('ends the processes of a child%s', async (_, options) => {
    const peer = await Peer.start({ stopTimeout: 1000, killTimeout: 100 });
    const { pid } = await peer.ask('grandchild', options);
    expect(runs(pid)).toBe(true);
    await peer.transport.close();
    expect(runs(pid)).toBe(false);
    expect(peer.log).toEqual(['exit: 0', 'close']);
  });

  test('does not wait for processes outside the group, even if they hold the pipes open', async () => {
    const peer = await Peer.start({ stopTimeout: 300 });
    const { pid } = await peer.ask('grandchild', { leave: true, hold: true });
    strangers.push(pid);
    await peer.transport.close();
    expect([peer.log, runs(pid)]).toEqual([['exit: 0', 'close'], true]);
  });

  test('a child that floods its stdout can exit', async () => {
    // Long enough for a busy machine: a child that cannot exit would be ended after any time.
    const peer = await Peer.start({ stopTimeout: 10_000 });
    await peer.tell('flood', { count: 20_000 });
    await vi.waitUntil(() => peer.received.length > 0);
    await peer.transport.close();
    expect(peer.log).toEqual(['exit: 0', 'close']);
  });

  test('inside onmessage stops the delivery of messages', async () => {
    const peer = await Peer.start();
    peer.transport.onmessage = (message) => {
      peer.received.push(message);
      void peer.transport.close();
    };
    await peer.tell('flood', { count: 100 });
    await peer.closed;
    expect(peer.received).toHaveLength(1);
  });
});

describe('a child that exits by itself', () => {
  test('is reported with its code and the last line of its stderr', async () => {
    const peer = await Peer.start();
    await peer.tell('exit', { code: 3, stderr: 'first line\n\nError: no configuration\n\n' });
    await peer.closed;
    const reason = /node.* exited with code 3: Error: no configuration$/;
    expect(peer.transport.closeReason?.message).toMatch(reason);
    expect(peer.log).toEqual(['exit: 3', `error: ${peer.transport.closeReason?.message}`, 'close']);
    expect(peer.transport.stderrTail).toContain('first line');
    await expect(peer.tell('echo')).rejects.toThrow(reason);
    await peer.transport.close();
  });

  test('is reported with the signal if SIGKILL ended it', async () => {
    const peer = await Peer.start();
    process.kill(peer.pid, 'SIGKILL');
    await peer.closed;
    expect(peer.transport.closeReason?.message).toMatch(/was killed by SIGKILL$/);
    expect(peer.transport.exit).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('closes its connection only when everything that it wrote is delivered', async () => {
    const peer = await Peer.start();
    await peer.tell('exit', { code: 0, last: 60_000 });
    await peer.closed;
    expect(peer.received).toMatchObject([{ method: 'notifications/last' }]);
    expect(peer.transport.closeReason?.message).toMatch(/exited with code 0$/);
  });

  test('causes no error while a message is sent to it', async () => {
    const peer = await Peer.start();
    await peer.tell('exit', { code: 1, last: 60_000 });
    const sends = Array.from({ length: 200 }, () => peer.tell('echo', { text: 'x'.repeat(10_000) }).catch(() => {}));
    await peer.closed;
    await Promise.all(sends);
    expect(peer.received).toMatchObject([{ method: 'notifications/last' }]);
    expect(peer.transport.closeReason?.message).toMatch(/exited with code 1$/);
  });

  test('also ends the processes it started', async () => {
    const peer = await Peer.start({ killTimeout: 100 });
    const { pid } = await peer.ask('grandchild', { stubborn: true, hold: true });
    process.kill(peer.pid, 'SIGKILL');
    await peer.closed;
    await vi.waitUntil(() => !runs(pid));
  });

  test('closes its connection even if another process holds its stdout open', async () => {
    const peer = await Peer.start({ stopTimeout: 600_000 });
    const { pid } = await peer.ask('grandchild', { leave: true, hold: true });
    strangers.push(pid);
    await peer.tell('exit', { code: 3, stderr: 'Error: no configuration\n' });
    await peer.closed;
    expect(peer.transport.closeReason?.message).toMatch(/exited with code 3: Error: no configuration$/);
    process.kill(pid, 'SIGKILL');
    await peer.transport.close();
  });

  test('does not make its connection wait for the processes it started', async () => {
    const peer = await Peer.start({ killTimeout: 600_000 });
    const { pid } = await peer.ask('grandchild', { stubborn: true, hold: true });
    process.kill(peer.pid, 'SIGKILL');
    await peer.closed;
    expect(peer.transport.closeReason?.message).toMatch(/was killed by SIGKILL$/);
    expect(runs(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await peer.transport.close();
  });
});

describe('a child that closes its stdout and lives on', () => {
  test('closes its connection at once, with the last line of its stderr', async () => {
    const peer = await Peer.start({ stopTimeout: 600_000 });
    await peer.ask('stderr', { text: 'Error: no output\n' });
    await peer.tell('close-stdout');
    await peer.closed;
    expect(peer.transport.closeReason?.message).toMatch(/closed its stdout: Error: no output$/);
    expect(peer.transport.exit).toBeUndefined();
    await expect(peer.tell('echo')).rejects.toMatchObject({ notExecuted: true });
    process.kill(peer.pid, 'SIGKILL');
    await peer.transport.close();
  });

  test('is ended, and close waits for that', async () => {
    const peer = await Peer.start({ stopTimeout: 50 });
    await peer.tell('close-stdout');
    await peer.closed;
    await peer.transport.close();
    expect(peer.transport.closeReason?.message).toMatch(/closed its stdout$/);
    expect(runs(peer.pid)).toBe(false);
  });

  test('closes its connection at once even if it leaves messages unread', async () => {
    const peer = await Peer.start({ stopTimeout: 600_000 });
    await peer.ask('deaf');
    const [written, waiting] = [0, 1].map(() => peer.tell('echo', { text: 'x'.repeat(1_000_000) }));
    process.kill(peer.pid, 'SIGHUP');
    await peer.closed;
    await written;
    await expect(waiting).rejects.toMatchObject({ notExecuted: true });
    process.kill(peer.pid, 'SIGKILL');
    await peer.transport.close();
  });
});

test('a child that closes its stdin and lives on closes its connection, with a reason', async () => {
  const peer = await Peer.start({ stopTimeout: 50 });
  await peer.ask('stderr', { text: 'Error: no input\n' });
  await peer.ask('close-stdin');
  await peer.tell('echo');
  await peer.closed;
  expect(peer.transport.closeReason?.message).toMatch(/closed its stdin: Error: no input$/);
});

describe('the output of a child', () => {
  test('that is not a message is reported, and the connection continues', async () => {
    const peer = await Peer.start();
    await peer.ask('raw', { text: 'Server listening\n\n{"jsonrpc":"2.0"}\n' });
    await peer.ask('raw', { base64: Buffer.from([0xff, 0xfe, 10]).toString('base64') });
    expect(await peer.ask('echo', { n: 1 })).toEqual({ n: 1 });
    expect(peer.log).toHaveLength(3);
    expect(peer.log[0]).toContain('Server listening');
    expect(peer.log[2]).toBe(
      'error: node wrote to its stdout: Parse error: not valid UTF-8. Only messages may go to stdout; logs go to stderr',
    );
  });

  test('in a line that is too long and may be a response closes the connection, with a reason', async () => {
    const peer = await Peer.start({ maxMessageBytes: 1000 });
    await peer.tell('raw', { text: `{"error":"${'x'.repeat(1001)}"}\n` });
    await peer.closed;
    expect(peer.transport.closeReason?.message).toContain('at most 1000 bytes');
    expect(peer.log.filter((entry) => entry.startsWith('error'))).toEqual([
      `error: ${peer.transport.closeReason?.message}`,
    ]);
    await expect(peer.tell('echo')).rejects.toThrow('at most 1000 bytes');
    expect(runs(peer.pid)).toBe(false);
  });

  test('to stderr arrives line by line, and its last lines are kept', async () => {
    const lines: string[] = [];
    const peer = await Peer.start({ stderr: undefined, onstderr: (line) => lines.push(line) });
    await peer.ask('stderr', { text: 'öne\r\ntwo\n\nthr' });
    await peer.ask('stderr', { text: 'ee\nno end' });
    await peer.ask('stderr', { text: 'z '.repeat(10_000) });
    await peer.transport.close();
    expect(lines).toEqual(['öne', 'two', '', 'three', `no end${'z '.repeat(10_000)}`]);
    expect(peer.transport.stderrTail).toBe('z '.repeat(4096));
  });

  test('to stderr is read on although onstderr rejects', async () => {
    const lines: string[] = [];
    const onstderr = (line: string): unknown => {
      lines.push(line);
      return Promise.reject(new Error(`not stored: ${line}`));
    };
    const peer = await Peer.start({ stderr: undefined, onstderr });
    await peer.ask('stderr', { text: 'one\ntwo\n' });
    await peer.transport.close();
    expect(lines).toEqual(['one', 'two']);
    expect(peer.log).toEqual(expect.arrayContaining(['error: not stored: one', 'error: not stored: two']));
  });

  test('to stderr is written to this process by default, and can be ignored', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const peer = await Peer.start({ stderr: undefined });
    await peer.ask('stderr', { text: 'loud\n' });
    await peer.transport.close();
    expect(write.mock.calls.map(([chunk]) => String(chunk)).join('')).toContain('loud\n');
    write.mockClear();
    for (const stderr of ['capture', 'ignore'] as const) {
      const quiet = await Peer.start({ stderr });
      await quiet.ask('stderr', { text: 'quiet\n' });
      await quiet.transport.close();
      expect(quiet.transport.stderrTail).toBe(stderr === 'capture' ? 'quiet\n' : '');
    }
    expect(write.mock.calls.map(([chunk]) => String(chunk)).join('')).not.toContain('quiet');
    write.mockRestore();
  });
});

test('messages for a child that does not read have a total limit', async () => {
  const peer = await Peer.start({ maxPendingBytes: 1_000_000, stopTimeout: 50 });
  await peer.ask('deaf');
  const sends = Array.from({ length: 30 }, () => peer.tell('echo', { text: 'x'.repeat(100_000) }));
  const results = await Promise.allSettled([...sends, peer.transport.close()]);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Error).message] : []));
  expect(reasons.filter((reason) => reason.includes('does not read')).length).toBeGreaterThan(15);
  expect(runs(peer.pid)).toBe(false);
});

test('a response is passed on unchanged', async () => {
  const peer = await Peer.start();
  await peer.tell('raw', { text: `${JSON.stringify(resultResponse('a', { x: 1 }))}\n` });
  await vi.waitUntil(() => peer.received.length === 1);
  expect(peer.received).toEqual([resultResponse('a', { x: 1 })]);
});

test('a child above its memory limit is killed with all its processes, and the reason is given', async () => {
  const modest = await Peer.start({ maxMemory: 1024 ** 3 });
  const peer = await Peer.start({ maxMemory: 200 * 1024 ** 2 });
  const { pid } = await peer.ask('grandchild', { leave: true });
  strangers.push(pid);
  await peer.ask('allocate', { bytes: 250 * 1024 ** 2 });
  await peer.closed;
  const reason = /^node was stopped: it used \d{3} MiB of memory, and the limit is 200 MiB$/;
  expect(peer.transport.closeReason?.message).toMatch(reason);
  expect(peer.log).toEqual(['exit: SIGKILL', `error: ${peer.transport.closeReason?.message}`, 'close']);
  await expect(peer.tell('echo')).rejects.toThrow(/limit is 200 MiB/);
  expect([runs(peer.pid), runs(pid)]).toEqual([false, false]);
  expect(await modest.ask('echo', { n: 1 })).toEqual({ n: 1 });
});

/** Runs a program that starts a child which ignores signals. Returns the process id of the child. */
async function startParent(
  options: Partial<ChildOptions>,
  then: string,
): Promise<{ parent: ChildProcess; pid: number }> {
  const child = { command: process.execPath, args: [CHILD], ...options };
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import { childTransport } from './child.ts';
        const transport = childTransport(${JSON.stringify(child)});
        transport.onmessage = () => {
          process.stdout.write(String(transport.pid), () => ${then});
        };
        void transport.start().then(() => transport.send({ jsonrpc: '2.0', id: 1, method: 'stubborn' }));`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    write: false,
  });
  const parent = spawn(process.execPath, ['-e', outputFiles[0]?.text ?? ''], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(parent, 'exit');
  const pid = Number(await text(parent.stdout));
  strangers.push(pid);
  await exit;
  return { parent, pid };
}

test('a child ends with this process, even if it ignores signals', async () => {
  const { parent, pid } = await startParent({}, 'process.exit(3)');
  expect(parent.exitCode).toBe(3);
  await vi.waitUntil(() => !runs(pid));
});

test.skipIf(process.platform === 'win32')(
  'a child with a watchdog ends with this process, even after SIGKILL',
  async () => {
    const { parent, pid } = await startParent({ watchdog: true }, `process.kill(process.pid, 'SIGKILL')`);
    expect(parent.signalCode).toBe('SIGKILL');
    expect(runs(pid)).toBe(true);
    await vi.waitUntil(() => !runs(pid));
  },
);

test('the event loop runs between the starts of many children', async () => {
  const children = Array.from({ length: 12 }, () =>
    childTransport({ command: process.execPath, args: ['-e', 'process.stdin.resume()'], stderr: 'ignore' }),
  );
  let started = false;
  const starting = Promise.all(children.map((child) => child.start())).finally(() => (started = true));
  let turns = 0;
  while (!started) {
    await nextTurn();
    turns += 1;
  }
  await starting;
  await Promise.all(children.map((child) => child.close()));
  expect(turns).toBeGreaterThanOrEqual(11);
});

test('a child whose connection is closed before its turn to start is not started', async () => {
  await nextTurn();
  const children = Array.from({ length: 4 }, () =>
    childTransport({ command: process.execPath, args: ['-e', 'process.stdin.resume()'], stderr: 'ignore' }),
  );
  const outcomes = children.map((child) =>
    child.start().then(
      () => 'started',
      (error: Error) => error.message,
    ),
  );
  const [, second, third] = children;
  let closed = 0;
  for (const child of [second!, third!]) child.onclose = () => (closed += 1);
  await Promise.all([second!.close(), third!.close()]);
  expect(await Promise.all(outcomes)).toEqual([
    'started',
    'The connection is closed',
    'The connection is closed',
    'started',
  ]);
  expect(children.map(({ pid }) => pid !== undefined)).toEqual([true, false, false, true]);
  expect(closed).toBe(2);
  expect(second!.closeReason).toBeUndefined();
  await Promise.all(children.map((child) => child.close()));
});
