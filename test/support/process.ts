import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { onLine } from './lines.ts';

const WINDOWS = process.platform === 'win32';
/** Milliseconds, as for `expect.poll` in `vitest.config.ts`: only what hangs takes so long. */
const TIMEOUT = 30_000;
// Also from the build: the package finds itself.
export const root = path.join(createRequire(import.meta.url).resolve('everwire/package.json'), '../');

/** The programs under test, as arguments of `node`. `npm test` builds them. */
export const programs = {
  everwire: [`${root}dist/lib/cli.js`],
  features: [`${root}dist/test/support/feature-server.js`],
  everything: [`${root}node_modules/@modelcontextprotocol/server-everything/dist/index.js`, 'stdio'],
  tee: [`${root}test/fixtures/tee.mjs`],
} as const;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that a test has started, and its output. */
export interface RunningProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Every line on stderr so far. */
  readonly stderr: string[];
  /** Every line on stdout so far. */
  readonly stdout: string[];
  /** Resolves when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>;
  /**
   * The first line on stderr that matches, from the beginning.
   *
   * @throws Error with the output if the process ends or `timeout` milliseconds pass before it
   */
  line(pattern: RegExp, timeout?: number): Promise<RegExpExecArray>;
  /** Sends SIGTERM and, after `grace` milliseconds, ends the process and its group. */
  stop(grace?: number): Promise<Exit>;
}

/** Whether a process has ended. Later, another one may have its number. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) kill(child, 'SIGKILL');
});

/** Starts `node` with the given arguments, in a folder. */
export function startNode(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd: string = root): RunningProcess {
  return startProgram(process.execPath, args, env, cwd);
}

/** Starts any program, in a folder. Its stdin stays open until the test or the process ends it. */
export function startProgram(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd: string = root,
): RunningProcess {
  // Its own process group: everything that the process leaves behind can be found and ended.
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: !WINDOWS,
  });
  running.add(child);
  const stdout: string[] = [];
  const stderr: string[] = [];
  const waiting = new Set<() => void>();
  const said = (): void => {
    for (const look of waiting) look();
  };
  onLine(child.stdout, (line) => stdout.push(line));
  onLine(child.stderr, (line) => {
    stderr.push(line);
    said();
  });
  // Writing to a process that has just exited fails. `exited` reports the exit.
  child.stdin.on('error', () => {});
  let ended = false;
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      ended = true;
      running.delete(child);
      resolve({ code, signal });
      said();
    });
  });
  exited.catch(() => {});

  const line = (pattern: RegExp, timeout = TIMEOUT): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`${why} before ${pattern}:\n${stderr.join('\n')}`));
      const finish = (): void => {
        clearTimeout(timer);
        waiting.delete(look);
      };
      const look = (): void => {
        for (const text of stderr) {
          const match = pattern.exec(text);
          if (!match) continue;
          finish();
          return resolve(match);
        }
        if (!ended) return;
        finish();
        fail('The process ended');
      };
      const timer = setTimeout(() => {
        finish();
        fail(`${timeout} ms passed`);
      }, timeout);
      waiting.add(look);
      look();
    });

  const stop = async (grace = 5000): Promise<Exit> => {
    if (!ended) child.kill('SIGTERM');
    const timer = setTimeout(() => kill(child, 'SIGKILL'), grace);
    const exit = await exited;
    clearTimeout(timer);
    kill(child, 'SIGKILL');
    return exit;
  };
  return { pid: child.pid!, child, stdout, stderr, exited, line, stop };
}

/** A server over HTTP. */
export interface RunningServer extends RunningProcess {
  /** The URL of the Streamable HTTP endpoint. */
  readonly url: string;
  /** The URL of the HTTP+SSE transport. */
  readonly sseUrl: string;
}

/** Starts a server with `node` on a free port, in a folder, and waits until it listens. */
export function startServer(args: readonly string[], env?: NodeJS.ProcessEnv, cwd?: string): Promise<RunningServer> {
  return listening(startNode(args, env, cwd));
}

/** Waits until a server that was just started listens. */
export async function listening(server: RunningProcess): Promise<RunningServer> {
  try {
    const [, url] = await server.line(/listening on (http:\S+)$/);
    return { ...server, url: url!, sseUrl: new URL('/sse', url).href };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (WINDOWS) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch (error) {
    // All processes of the group have exited.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The ids of the live processes that descend from one. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const row of execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')) {
    const [id, parent, state] = row.trim().split(/\s+/);
    // A zombie has exited, and its parent has not noticed yet.
    if (state?.startsWith('Z')) continue;
    children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(id)]);
  }
  const found: number[] = [];
  for (let todo = [pid]; todo.length > 0;) {
    const next = children.get(todo.pop()!) ?? [];
    found.push(...next);
    todo.push(...next);
  }
  return found;
}

/** Whether a process runs. A zombie does not: its parent has not noticed its exit yet. */
export function isAlive(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
}

/** Polls until a condition is true. For conditions that only another process knows. */
export async function eventually<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  timeout = TIMEOUT,
): Promise<T> {
  for (const end = Date.now() + timeout; ;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`Not within ${timeout} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
