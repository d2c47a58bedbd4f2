import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bytesOf, sha256 } from '../support/captured.ts';
import { node, runEverwire } from '../support/command-line.ts';
import { startInspector } from '../support/inspector.ts';
import { programs } from '../support/process.ts';
import type { WireRecord } from '../../src/inspect/record.ts';

const through = ['inspect', '--through', '--'];

interface Run {
  readonly child: ReturnType<typeof start>;
  readonly stdout: Buffer[];
  readonly stderr: Buffer[];
}

const start = (words: readonly string[]) =>
  spawn(words[0]!, words.slice(1), { stdio: ['pipe', 'pipe', 'pipe'], detached: true });

/** Runs a program as a host does, directly or through the inspector. */
function run(code: string, isThrough: boolean): Run {
  const command = [node, '-e', code];
  const child = start(isThrough ? [node, ...programs.everwire, ...through, ...command] : command);
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  child.stdin.on('error', () => {});
  const [stdout, stderr]: Buffer[][] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => stdout!.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr!.push(chunk));
  return { child, stdout: stdout!, stderr: stderr! };
}

/** What a host sees of a program. The address of the page is left out of stderr. */
async function seen({ child, stdout, stderr }: Run) {
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const errors = Buffer.concat(stderr).toString('latin1');
  return {
    ...{ code, signal },
    stdout: sha256(Buffer.concat(stdout)),
    stderr: sha256(errors.replace(/^everwire: inspector on .*\n/, '')),
  };
}

/** What a host sees directly, and what it sees through the inspector. */
async function both(code: string, use: (run: Run) => void | Promise<void>) {
  const results = [];
  for (const isThrough of [false, true]) {
    const started = run(code, isThrough);
    const result = seen(started);
    await use(started);
    results.push(await result);
  }
  return { direct: results[0]!, through: results[1]! };
}

/** Bytes of every value, also such that are no UTF-8, and without a line end. */
const bytes = (count: number): Buffer => Buffer.from(Uint8Array.from({ length: count }, (_, at) => (at * 7919) >> 3));

describe.skipIf(process.platform === 'win32')('everwire inspect --through', () => {
  test('passes every byte of stdin, stdout and stderr, and the exit code', async () => {
    const echo =
      'process.stdin.pipe(process.stdout); process.stdin.on("end", () => { console.error("\\xff \\u20ac no line end"); process.exitCode = 7 })';
    const results = await both(echo, ({ child }) => void child.stdin.end(bytes(5_000_000)));
    expect(results.through).toEqual(results.direct);
    expect(results.direct).toMatchObject({ code: 7, signal: null, stdout: sha256(bytes(5_000_000)) });
  });

  test('waits for a host that does not read, and loses nothing', async () => {
    const write = `process.stdout.write(Buffer.alloc(3_000_000, "abc")); console.error('written')`;
    const results = await both(write, async ({ child, stderr }) => {
      child.stdout.pause();
      while (!Buffer.concat(stderr).includes('written')) await once(child.stderr, 'data');
      child.stdout.resume();
    });
    expect(results.through).toEqual(results.direct);
    expect(results.direct.stdout).toBe(sha256(Buffer.alloc(3_000_000, 'abc')));
  });

  test('tells the host that the command has closed its stdout, while stdin and stderr go on', async () => {
    const closing = `
      require('fs').writeSync(1, 'last words'); require('fs').closeSync(1);
      process.stdin.on('data', (chunk) => process.stderr.write(chunk)).on('end', () => process.exit(3))`;
    const results = await both(closing, async ({ child }) => {
      await once(child.stdout, 'end');
      child.stdin.end('still here');
    });
    expect(results.through).toEqual(results.direct);
    expect(results.direct).toMatchObject({ code: 3, stdout: sha256('last words'), stderr: sha256('still here') });
  });

  test('tells the host that the command has closed its stdin', async () => {
    const closing = `require('fs').closeSync(0); setTimeout(() => process.exit(4), 60_000);
      process.on('SIGTERM', () => process.exit(5)); console.log('closed')`;
    const results = await both(closing, async ({ child }) => {
      await once(child.stdout, 'data');
      const broken = new Promise((resolve) => child.stdin.once('close', resolve));
      const writing = setInterval(() => child.stdin.destroyed || child.stdin.write('x'), 20);
      await broken;
      clearInterval(writing);
      child.kill('SIGTERM');
    });
    expect(results.through).toEqual(results.direct);
    expect(results.direct).toMatchObject({ code: 5 });
  });

  test('tells the command that the host no longer reads', async () => {
    const endless = `process.stdout.on('error', ({ code }) => { console.error(code); process.exit(6) });
      setInterval(() => process.stdout.write('x'), 10)`;
    const results = await both(endless, async ({ child }) => {
      await once(child.stdout, 'data');
      child.stdout.destroy();
    });
    expect(results.through).toMatchObject({ code: 6, stderr: results.direct.stderr });
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)('passes %s on, once', async (signal) => {
    const counting = `let count = 0; process.on('${signal}', () => { count += 1; setTimeout(() => process.exit(count), 100) });
      console.log('ready'); setInterval(() => {}, 1000)`;
    const results = await both(counting, async ({ child }) => {
      await once(child.stdout, 'data');
      // As a terminal does it.
      process.kill(-child.pid!, signal);
    });
    expect(results.through).toEqual(results.direct);
    expect(results.direct).toMatchObject({ code: 1, signal: null });
  });

  test('ends by the signal that ended the command', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const results = await both(`process.kill(process.pid, '${signal}'); setInterval(() => {}, 1000)`, () => {});
      expect(results.through).toEqual(results.direct);
      expect(results.direct).toMatchObject({ code: null, signal });
    }
  });

  test('leaves no command behind if it is killed', async () => {
    const { child, stdout } = run('console.log(process.pid); setInterval(() => {}, 1000)', true);
    await once(child.stdout, 'data');
    const pid = Number(Buffer.concat(stdout).toString());
    child.kill('SIGKILL');
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  });

  test('shows the bytes as they passed, and takes no commands', async () => {
    const { page, child } = await startInspector([...through, node, '-e', 'process.stdin.pipe(process.stdout)']);
    expect(await page.until(() => true)).toMatchObject({
      role: 'observer',
      target: expect.stringContaining('process.stdin.pipe') as string,
    });
    await expect(page.command('connect', { url: 'http://localhost/' })).rejects.toThrow('409');
    const recording = await page.records();
    const sent = '{"jsonrpc":"2.0","id":1,"method":"ping"}\r\nstray \u{1F600}\n';
    child.child.stdin!.write(sent);
    const records: WireRecord[] = [];
    for await (const record of recording) {
      records.push(record);
      if (record.layer === 'line' && record.dir === 's>c' && record.range[1] === Buffer.byteLength(sent)) break;
    }
    for (const dir of ['c>s', 's>c'] as const) expect(bytesOf(records, dir).toString()).toBe(sent);
    child.child.stdin!.end();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test('says what is wrong before anything is started', async () => {
    expect(await runEverwire(['inspect', '--through', 'http://localhost/'])).toMatchObject({
      code: 2,
      stderr: 'everwire: --through needs -- and a command',
    });
    const { code, stderr } = await runEverwire([...through, 'no-such-program']);
    expect([code, stderr.split('\n').at(-1)]).toEqual([
      3,
      'everwire: cannot start no-such-program: command not found in any folder of PATH',
    ]);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
