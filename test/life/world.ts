import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAlive, programs, root, startServer, type RunningServer } from '../support/process.ts';
import type { Target } from '../interop/clients.ts';

const fixture = (name: string): string => `${root}test/fixtures/${name}.mjs`;
const SEQUENTIAL_THINKING = `${root}node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js`;

/** Servers that keep state in their process, a record of each start, and gates at which calls wait. */
export class World {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'everwire-life-'));
  readonly #servers: RunningServer[] = [];
  readonly #addresses: Server[] = [];
  #gates = 0;

  /** The `node` arguments of our own server. */
  get stateful(): string[] {
    return [fixture('counted'), this.#folder, fixture('stateful'), this.#folder];
  }

  get sequentialThinking(): string[] {
    return [fixture('counted'), this.#folder, SEQUENTIAL_THINKING];
  }

  /** Creates a gate at which no call waits yet. */
  gate(): { name: string; open: () => void } {
    const name = `gate-${(this.#gates += 1)}`;
    return { name, open: () => writeFileSync(path.join(this.#folder, name), '') };
  }

  /** The processes that were started, in order. */
  get started(): number[] {
    const file = path.join(this.#folder, 'started');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
  }

  get alive(): number[] {
    return this.started.filter(isAlive);
  }

  /** Starts a server over HTTP. */
  async serve(args: readonly string[]): Promise<RunningServer> {
    const server = await startServer(args);
    this.#servers.push(server);
    return server;
  }

  /** An address at which one server replaces another. Its port stays taken, so no other program can get it. */
  async address(): Promise<Address> {
    let current: RunningServer | undefined;
    const front = createServer((socket) => {
      if (!current) {
        socket.destroy();
        return;
      }
      const onward = connect(Number(new URL(current.url).port), '127.0.0.1');
      for (const [end, other] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        end.on('error', () => other.destroy()).on('close', () => other.destroy());
        end.pipe(other);
      }
    });
    this.#addresses.push(front);
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
    const serve = async (args: readonly string[]): Promise<void> => void (current = await this.serve(args));
    const stop = async (): Promise<unknown> => {
      const former = current;
      const exit = await former?.stop();
      current = undefined;
      return exit;
    };
    const kill = async (): Promise<unknown> => {
      current?.child.kill('SIGKILL');
      return stop();
    };
    return { url: `${origin}/mcp`, sseUrl: `${origin}/sse`, serve, stop, kill };
  }

  /** Stops everything that was started. */
  async end(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    await Promise.all(this.#addresses.map((front) => new Promise((resolve) => front.close(resolve))));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface Address {
  readonly url: string;
  readonly sseUrl: string;
  /** Starts a server behind it. */
  readonly serve: (args: readonly string[]) => Promise<void>;
  /** Stops the server as a supervisor does. Resolves with how it ended. */
  readonly stop: () => Promise<unknown>;
  /** Kills the server. Resolves with how it ended. */
  readonly kill: () => Promise<unknown>;
}

/** The `node` arguments of a bridge. */
export function bridgeTo(child: readonly string[], ...options: string[]): string[] {
  return [...programs.everwire, 'bridge', ...options, '--', process.execPath, ...child];
}

/** Where a listening server can be reached. */
export function at({ url, sseUrl }: Pick<RunningServer, 'url' | 'sseUrl'>): Target {
  return { stdio: [], url, sseUrl };
}

/** How each client starts its own server. */
export function over(stdio: readonly string[]): Target {
  return { stdio, url: '', sseUrl: '' };
}
