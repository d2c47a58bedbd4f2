import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { hasEnded } from '../test/support/process.ts';

/** The milliseconds that a peer may take until it listens. */
const START_TIMEOUT = 20_000;
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** A peer that listens, in its own process. */
export interface HttpPeer {
  readonly url: URL;
  readonly process: ChildProcess;
}

export function peerScript(name: string): string {
  return fileURLToPath(new URL(`peers/${name}.js`, import.meta.url));
}

/** Starts one of our peer scripts, which reports its address itself. */
export async function startPeer(name: string, args: readonly string[] = []): Promise<HttpPeer> {
  const child = track(
    spawn(process.execPath, ['--expose-gc', peerScript(name), ...args], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
  const [{ url }] = await orDies(child, once(child, 'message'), name);
  return { url: new URL(url), process: child };
}

/** Starts a program that listens on the given port, and serves `/mcp` there. */
export async function startProgram(
  name: string,
  script: string,
  args: (port: number) => readonly string[],
): Promise<HttpPeer> {
  const port = await freePort();
  const child = track(spawn(process.execPath, [script, ...args(port)], { stdio: ['ignore', 'ignore', 'pipe'] }));
  // Its output is shown only if it fails: some of these programs log every request.
  let says = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (says = (says + text).slice(-4000)));
  try {
    await orDies(child, reachable(port), name);
  } catch (cause) {
    throw new Error(`${name} did not start: ${says}`, { cause });
  }
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), process: child };
}

export function startStdio(name: string): ChildProcessByStdio<Writable, Readable, null> {
  return startLines(peerScript(name), [], 'inherit');
}

/** Starts a program that speaks over stdin and stdout. */
export function startLines(
  script: string,
  args: readonly string[],
  stderr: 'inherit' | 'ignore' = 'ignore',
): ChildProcessByStdio<Writable, Readable, null> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', stderr] });
  track(child);
  return child;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const closed = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 2000);
  await closed;
  clearTimeout(timer);
}

/** The bytes of memory that a process of `startPeer` uses now, after a garbage collection. */
export async function memoryInUse(child: ChildProcess): Promise<number> {
  child.send('memory');
  const [{ rss }] = (await once(child, 'message')) as [{ rss: number }];
  return rss;
}

/** Microseconds of processor time that a process of `startPeer` has spent. */
export async function cpuTime(child: ChildProcess): Promise<number> {
  child.send('cpu');
  const [{ cpu }] = (await once(child, 'message')) as [{ cpu: number }];
  return cpu;
}

/** The peak memory of a running process, in bytes. Undefined if the system does not report it. */
export function peakMemory({ pid }: ChildProcess): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The microseconds of processor time that a running process has spent, or only its main thread. Undefined if the system
 * does not report it.
 */
export function cpuSpent({ pid }: Pick<ChildProcess, 'pid'>, threads: 'all' | 'main' = 'all'): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const stat = readFileSync(threads === 'all' ? `/proc/${pid}/stat` : `/proc/${pid}/task/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Linux counts in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

export function track<T extends ChildProcess>(child: T): T {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

async function orDies<T>(child: ChildProcess, ready: Promise<T>, name: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const dead = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} exited with ${code} before it listened`)));
    timer = setTimeout(() => reject(new Error(`${name} did not listen within ${START_TIMEOUT} ms`)), START_TIMEOUT);
  });
  try {
    return await Promise.race([ready, dead]);
  } finally {
    clearTimeout(timer);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function reachable(port: number): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT;
  while (performance.now() < deadline) {
    const socket = connect({ port, host: '127.0.0.1' });
    const connected = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
