import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root, startServer, type RunningServer } from '../../support/process.ts';
import { startRedis, type RedisServer } from '../../support/redis-server.ts';
import { Front } from './front.ts';
import { Troubles } from './history.ts';
import { RedisProxy } from './redis-proxy.ts';

const KEY = 'the-state-key-of-the-storm';
/** `npm test` builds it. */
const PROGRAM = [
  ...['--expose-gc', '--import', `${root}test/fixtures/measured.mjs`],
  `${root}dist/test/faults/cluster/server.js`,
];

/** A process and its way to Redis. */
export interface Member {
  readonly name: string;
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
  front!: Front;

  private constructor(redis: RedisServer, folder: string) {
    this.redis = redis;
    this.folder = folder;
  }

  static async start(command: string, processes: number): Promise<Cluster> {
    // What was stored is there after a restart, unless the storm removes it.
    const redis = await startRedis(command, '--appendonly', 'yes', '--appendfsync', 'everysec');
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-storm-'));
    const cluster = new Cluster(redis, folder);
    mkdirSync(cluster.history);
    await Promise.all(Array.from({ length: processes }, () => cluster.add()));
    cluster.front = await Front.start(() => cluster.members.map(({ server }) => server.url));
    return cluster;
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
  async add(): Promise<Member> {
    const name = `p${(this.#names += 1)}`;
    const proxy = await RedisProxy.start(this.redis.port);
    const about = ['--name', name, '--store', proxy.url, '--state-key', KEY, '--history', this.history];
    const server = await this.#start([...PROGRAM, ...about]);
    const member: Member = { name, proxy, server, ended: false };
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
  async #start(args: readonly string[]): Promise<RunningServer> {
    for (;;) {
      try {
        return await startServer(args);
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
    this.front.stop();
    // A copy: those that are stopped are no members any more.
    await Promise.all([...this.members].map((member) => this.stop(member)));
    await this.redis.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function tail({ server }: Member): string {
  return server.stderr.slice(-5).join(' | ');
}
