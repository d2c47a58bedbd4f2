import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from './captured.ts';
import { node } from './command-line.ts';
import { programs } from './process.ts';

interface Run {
  readonly child: ReturnType<typeof start>;
  readonly stdout: Buffer[];
  readonly stderr: Buffer[];
}

const start = (words: readonly string[]) =>
  spawn(words[0]!, words.slice(1), { stdio: ['pipe', 'pipe', 'pipe'], detached: true });

/** Runs a program as a host does, directly or after the words of another command. */
function run(code: string, before: readonly string[]): Run {
  const child = start([...before, node, '-e', code]);
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

/** Bytes of every value, also such that are no UTF-8, and without a line end. */
const bytes = (count: number): Buffer => Buffer.from(Uint8Array.from({ length: count }, (_, at) => (at * 7919) >> 3));

/**
 * `everwire inspect --through` passes everything.
 *
 * @param runtime the command of the runtime, before the script
 * @param closes whether a single stream can be closed for the host while the others go on
 * @param waits whether stderr goes on while the host does not read stdout
 */
export function throughSuite(runtime: readonly string[] = [node], closes = true, waits = true): void {
  const through = [...runtime, ...programs.everwire, 'inspect', '--through', '--'];

  /** What a host sees directly, and what it sees through the inspector. */
  const both = async (code: string, use: (run: Run) => void | Promise<void>) => {
    const results = [];
    for (const before of [[], through]) {
      const started = run(code, before);
      const result = seen(started);
      await use(started);
      results.push(await result);
    }
    return { direct: results[0]!, through: results[1]! };
  };

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
      while (stderr.length === 0 || (waits && !Buffer.concat(stderr).includes('written')))
        await once(child.stderr, 'data');
      child.stdout.resume();
    });
    expect(results.through).toEqual(results.direct);
    expect(results.direct.stdout).toBe(sha256(Buffer.alloc(3_000_000, 'abc')));
  });

  test.runIf(closes)(
    'tells the host that the command has closed its stdout, while stdin and stderr go on',
    async () => {
      const closing = `
      require('fs').writeSync(1, 'last words'); require('fs').closeSync(1);
      process.stdin.on('data', (chunk) => process.stderr.write(chunk)).on('end', () => process.exit(3))`;
      const results = await both(closing, async ({ child }) => {
        await once(child.stdout, 'end');
        child.stdin.end('still here');
      });
      expect(results.through).toEqual(results.direct);
      expect(results.direct).toMatchObject({ code: 3, stdout: sha256('last words'), stderr: sha256('still here') });
    },
  );

  test.runIf(closes)('tells the host that the command has closed its stdin', async () => {
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

  test.skipIf(closes)('the host sees that the command has closed a stream only when the command ends', async () => {
    const closing = `
      const { closeSync, writeSync } = require('fs');
      process.stdin.once('data', () => {
        writeSync(1, 'last words');
        closeSync(1);
        process.stdin.destroy();
        closeSync(0);
        setInterval(() => process.stderr.write('.'), 20);
      });
      process.on('SIGTERM', () => process.exit(3))`;
    const { child, stdout, stderr } = run(closing, through);
    child.stdin.write('go');
    const dots = (): number => Buffer.concat(stderr).toString().replace(/^.*\n/, '').length;
    for (let before = 0; before < 20; before = dots()) {
      await once(child.stderr, 'data');
      child.stdin.write('x');
    }
    expect([child.stdout.readableEnded, child.stdin.destroyed]).toEqual([false, false]);
    expect(Buffer.concat(stdout).toString()).toBe('last words');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([3, null]);
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
    const { child, stdout } = run('console.log(process.pid); setInterval(() => {}, 1000)', through);
    await once(child.stdout, 'data');
    const pid = Number(Buffer.concat(stdout).toString());
    child.kill('SIGKILL');
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
