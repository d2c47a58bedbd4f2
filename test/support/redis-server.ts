import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hasEnded } from './process.ts';

/**
 * The command of a Redis or Valkey server on the PATH. As root on Debian, the package `redis-server` is installed.
 *
 * @returns undefined if there is none. Then the reason was printed, once for the whole run.
 * @throws Error in CI, where these tests must run.
 */
export function findRedis(): string | undefined {
  const server = redisOnPath() ?? (installed() ? redisOnPath() : undefined);
  if (server === undefined) {
    const advice = 'install redis-server or valkey-server';
    if (process.env['CI'] === 'true') throw new Error(`There is no Redis for the tests: ${advice}.`);
    if (isFirst()) process.stderr.write(`Tests with Redis are skipped: ${advice}.\n`);
  }
  return server;
}

/** The command of a Redis or Valkey server on the PATH. Undefined if there is none. */
export function redisOnPath(): string | undefined {
  return ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
}

function installed(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false;
  const apt = (...words: string[]): boolean =>
    spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...words], { timeout: 600_000 }).status === 0;
  const install = ['install', '-y', '--no-install-recommends', 'redis-server'];
  return apt(...install) || (apt('update') && apt(...install));
}

/** Whether nobody asked before in this test run. Each test file has a process of its own. */
function isFirst(): boolean {
  try {
    closeSync(openSync(path.join(process.env['XDG_DATA_HOME']!, 'no-redis'), 'wx'));
    return true;
  } catch {
    return false;
  }
}

/** A Redis server of the tests. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Kills the process. What it has stored is lost. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without data. */
  restart(): Promise<void>;
  /** Stops the process without ending it: connections stay open and nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** Kills it and removes its folder. */
  stop(): Promise<void>;
}

/** Starts a Redis server on a free port, with a folder of its own and no file of its data. It ends with this process. */
export async function startRedis(command: string, ...options: readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-redis-'));
  const port = await freePort();
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const bind = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no'];
    const started = spawn(command, [...bind, ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
    child = started;
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      started.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (printed.includes('Ready to accept connections')) resolve();
      });
      started.once('error', reject);
      started.once('exit', () => reject(new Error(`${command} has ended:\n${printed}`)));
    });
  };
  const kill = async (): Promise<void> => {
    if (!child || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const end = (): void => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', end);
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    restart: async () => {
      await kill();
      await start();
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    stop: async () => {
      await kill();
      end();
      process.off('exit', end);
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** How a bad proxy treats a connection. */
export interface BadNetwork {
  /** Milliseconds before each piece of data goes on. */
  readonly delay?: number;
  /** The most bytes of each piece. */
  readonly split?: number;
  /** After how many bytes of replies the connection is cut. */
  readonly cutAfter?: number;
  /** Takes everything and passes nothing on. */
  readonly silent?: boolean;
  /** New connections are closed at once. */
  readonly closed?: boolean;
}

/** A port that passes bytes to another one, badly. */
export async function badProxy(port: number, network: () => BadNetwork) {
  const server = createServer((near) => {
    if (network().closed === true) {
      near.on('error', () => {}).destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    let replied = 0;
    const pass = (from: typeof near, to: typeof near, isReply: boolean): void => {
      let last = Promise.resolve();
      from.on('data', (chunk: Buffer) => {
        const { delay = 0, split = chunk.length, cutAfter = Infinity, silent = false } = network();
        if (silent) return;
        for (let at = 0; at < chunk.length; at += split) {
          const piece = chunk.subarray(at, at + split);
          last = last.then(async () => {
            if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
            to.write(piece);
            if (!isReply || (replied += piece.length) <= cutAfter) return;
            near.destroy();
            far.destroy();
          });
        }
      });
      for (const event of ['error', 'close'])
        from.on(event, () => {
          near.destroy();
          far.destroy();
        });
    };
    pass(near, far, false);
    pass(far, near, true);
    sockets.add(near).add(far);
  });
  const sockets = new Set<ReturnType<typeof connect>>();
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = (server.address() as AddressInfo).port;
  return {
    port: own,
    url: `redis://127.0.0.1:${own}`,
    /** Cuts all connections. */
    cut,
    stop: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
