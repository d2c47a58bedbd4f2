import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { programs, root, startServer, type RunningServer } from '../../support/process.ts';
import { startRedis, type RedisServer } from '../../support/redis-server.ts';
import { Front, type Exchanged } from './front.ts';
import { Troubles } from './history.ts';
import { RedisProxy } from './redis-proxy.ts';

const KEY = 'the-state-key-of-the-storm';
const NODE = ['--expose-gc', '--import', `${root}test/fixtures/measured.mjs`];
/** `npm test` builds it. */
const SERVER = [...NODE, `${root}dist/test/faults/cluster/server.js`];
const BRIDGE = [...NODE, ...programs.everwire, 'bridge', '--port', '0', '--max-sessions', '10000'];
const CHILD = ['--', process.execPath, `${root}test/fixtures/counter.mjs`];

/** A server, or a bridge that starts a child for each client. */
const KINDS = ['server', 'bridge'] as const;
export type Kind = (typeof KINDS)[number];

/** A process and its way to Redis. */
export interface Member {
  readonly name: string;
  readonly kind: Kind;
  readonly server: RunningServer;
  readonly proxy: RedisProxy;
  /** Whether the storm has ended it. A process that ends by itself has crashed. */
  ended: boolean;
}

/** Several processes that share one Redis, and a front before them. */
export class Cluster {
  readonly troubles = new Troubles();
  readonly redis: RedisServer;
  readonly folder: string;
  readonly #members: Member[] = [];
  #names = 0;
  /** All processes that were started. */
  readonly started: Member[] = [];
  readonly crashes: string[] = [];
  readonly #sizes: Readonly<Record<Kind, number>>;
  fronts!: Readonly<Record<Kind, Front>>;

  private constructor(redis: RedisServer, folder: string, sizes: Readonly<Record<Kind, number>>) {
    this.redis = redis;
    this.folder = folder;
    this.#sizes = sizes;
  }

  /**
   * @param sizes how many processes of each kind serve.
   * @param observe called for what the fronts pass on.
   */
  static async start(
    command: string,
    sizes: Readonly<Record<Kind, number>>,
    observe: (exchanged: Exchanged) => void,
  ): Promise<Cluster> {
    // What was stored is there after a restart, unless the storm removes it. With `everysec`, a busy disk delays writes.
    const redis = await startRedis(command, '--appendonly', 'yes', '--appendfsync', 'always');
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-storm-'));
    const cluster = new Cluster(redis, folder, sizes);
    mkdirSync(cluster.history);
    const starting = KINDS.flatMap((kind) => Array.from({ length: sizes[kind] }, () => cluster.add(kind)));
    await Promise.all(starting);
    const frontOf = (kind: Kind): Promise<Front> =>
      Front.start(() => cluster.of(kind).map(({ name, server }) => ({ name, url: server.url })), observe);
    cluster.fronts = { server: await frontOf('server'), bridge: await frontOf('bridge') };
    return cluster;
  }

  /** The processes of a kind that serve. */
  of(kind: Kind): Member[] {
    return this.#members.filter((member) => member.kind === kind);
  }

  /** Starts processes until as many serve as at the start. */
  async fill(): Promise<void> {
    for (const kind of KINDS) while (this.of(kind).length < this.#sizes[kind]) await this.add(kind);
  }

  /** Where the handlers write what they do. */
  get history(): string {
    return path.join(this.folder, 'history');
  }

  /** The processes that serve. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** Starts a process. */
  async add(kind: Kind): Promise<Member> {
    const name = `${kind === 'server' ? 'p' : 'b'}${(this.#names += 1)}`;
    const proxy = await RedisProxy.start(this.redis.port);
    const stored = ['--store', proxy.url, '--state-key', KEY];
    const args =
      kind === 'server'
        ? [...SERVER, ...stored, '--name', name, '--history', this.history]
        : [...BRIDGE, ...stored, ...CHILD];
    // The children of a bridge write to this file.
    const server = await this.#start(args, {
      STORM_PROCESS: name,
      STORM_FILE: path.join(this.history, `${name}-children`),
    });
    const member: Member = { name, kind, proxy, server, ended: false };
    this.started.push(member);
    this.#members.push(member);
    void member.server.exited.then(({ code, signal }) => {
      this.#remove(member);
      proxy.stop();
      if (!member.ended) this.crashes.push(`${name} has ended by itself (${code ?? signal}): ${tail(member)}`);
    });
    return member;
  }

  /** While Redis is gone, a process cannot start. */
  async #start(args: readonly string[], env: NodeJS.ProcessEnv): Promise<RunningServer> {
    for (;;) {
      try {
        return await startServer(args, env);
      } catch (error) {
        const now = Date.now();
        if (this.troubles.during(now - 20_000, now, 'redis is unreachable', 'redis is slow').length === 0) throw error;
      }
    }
  }

  /** Kills a process, as the kernel does. */
  async kill(member: Member): Promise<void> {
    this.#end(member, 'killed');
    member.server.child.kill('SIGKILL');
    await member.server.exited;
  }

  /** Stops a process, as a supervisor does. The front passes nothing to it any more. */
  async stop(member: Member): Promise<void> {
    this.#end(member, 'stopped');
    await member.server.stop(20_000);
  }

  #end(member: Member, what: 'killed' | 'stopped'): void {
    member.ended = true;
    this.#remove(member);
    this.troubles.happened(what, member.name);
  }

  #remove(member: Member): void {
    const at = this.#members.indexOf(member);
    if (at >= 0) this.#members.splice(at, 1);
  }

  /** Sends a command to Redis directly. */
  async command(...words: readonly string[]): Promise<string> {
    const socket = connect(this.redis.port, '127.0.0.1');
    try {
      return await new Promise<string>((resolve, reject) => {
        let reply = '';
        socket.on('error', reject).on('close', () => reject(new Error('Redis has closed the connection')));
        socket.on('data', (chunk: Buffer) => {
          reply += chunk.toString();
          // It answers the second command last.
          if (reply.endsWith('+PONG\r\n')) resolve(reply.slice(0, -'+PONG\r\n'.length));
        });
        socket.write(`${words.join(' ')}\r\nPING\r\n`);
      });
    } finally {
      socket.destroy();
    }
  }

  /** Ends everything. */
  async end(): Promise<void> {
    for (const kind of KINDS) this.fronts[kind].stop();
    // A copy: those that are stopped are no members any more.
    await Promise.all([...this.members].map((member) => this.stop(member)));
    await this.redis.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function tail({ server }: Member): string {
  return server.stderr.slice(-5).join(' | ');
}
