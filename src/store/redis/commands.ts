import { createHash } from 'node:crypto';
import { TimeLimit } from '../../base/time-limit.ts';

/** A connected Redis client: that of `@redis/client`, or that of `ioredis`, which has `call`. */
export type RedisClient =
  | {
      /** Sends a command with its arguments, and resolves to the reply. */
      sendCommand(args: string[]): Promise<unknown>;
    }
  | {
      /** Sends a command with its arguments, and resolves to the reply. */
      call(command: string, ...args: string[]): Promise<unknown>;
    };

/** The store did not answer. What was to be written may have been written. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

/** Begins all keys, in braces, unless a program has chosen another prefix. */
export const PREFIX = 'everwire';

/** What a refusal is called in a few words, by the code of its error. */
const REFUSALS: Readonly<Record<string, string>> = {
  OOM: 'out of memory',
  NOPERM: 'no permission',
  MISCONF: 'cannot save',
};

/** Redis has answered a command with an error. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
  /** The reason in a few words, without details. */
  readonly reason: string;
  /** Whether nothing was done. An error of a script names the script, and some of its commands may have been done before. */
  readonly didNothing: boolean;

  /** @param why the reply, and what it means. */
  constructor(why: string, options: { readonly cause: Error }) {
    super(`Redis has refused a command: ${why}`, options);
    const reply = options.cause.message;
    const reason = REFUSALS[/^[A-Z]+/.exec(reply)?.[0] ?? ''];
    this.reason = reason ?? 'refuses commands';
    this.didNothing = reason !== undefined && !reply.includes(' script: ');
  }
}

/** A Lua script. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/**
 * A script that stores something. If the memory of Redis is full, it is refused before it begins. It gets the beginning of
 * all keys as `P`, and makes the keys from it.
 *
 * @param parts of the source, one after the other.
 */
export function storing(...parts: readonly string[]): Script {
  return script('#!lua', ...parts);
}

/** A script that reads or removes. It also runs if the memory of Redis is full. */
export function freeing(...parts: readonly string[]): Script {
  return script('#!lua flags=allow-oom', ...parts);
}

function script(...parts: readonly string[]): Script {
  const [first, ...rest] = parts;
  const text = [first, 'local P = KEYS[1]', ...rest].join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Sends commands to Redis. Each ends within a time limit. Nothing is sent twice, because it may have been done. */
export class Commands {
  readonly #send: (args: string[]) => Promise<unknown>;
  readonly #prefix: string;
  readonly #limit: TimeLimit;
  readonly #timeoutError: () => Error;
  #reachable = true;

  /** @param timeout milliseconds. */
  constructor(client: RedisClient, prefix: string, timeout: number) {
    // The `sendCommand` of `ioredis` takes an object of its own.
    if ('call' in client) this.#send = ([name = '', ...args]) => client.call(name, ...args);
    else if ('sendCommand' in client) this.#send = (args) => client.sendCommand(args);
    else throw new TypeError('A Redis client must have the method sendCommand or call');
    if (hasSeveralConnections(client))
      throw new TypeError(
        'A Redis client must have one connection: it must not be a pool, createCluster or createSentinel',
      );
    // The braces put all keys into one slot of a cluster.
    this.#prefix = `{${prefix}}`;
    this.#limit = new TimeLimit(timeout);
    this.#timeoutError = () => new Error(`no reply within ${timeout} ms`);
  }

  /** Whether the newest command was answered. */
  get reachable(): boolean {
    return this.#reachable;
  }

  /** A key of this state. */
  key(name: string): string {
    return `${this.#prefix}:${name}`;
  }

  /** @throws StoreUnreachable; CommandRefused if Redis refuses the script, for example because its memory is full. */
  async run({ text, sha }: Script, ...args: readonly (string | number)[]): Promise<unknown> {
    const rest = ['1', this.#prefix, ...args.map(String)];
    try {
      return await this.send(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!(error as Error).message.includes('NOSCRIPT')) throw error;
      return this.send(['EVAL', text, ...rest]);
    }
  }

  /** Runs a script that returns a number. Some clients are set up so that they give numbers as texts. @throws as `run`. */
  async count(counting: Script, ...args: readonly (string | number)[]): Promise<number> {
    return Number(await this.run(counting, ...args));
  }

  /** @throws as `run`. */
  async send(args: string[]): Promise<unknown> {
    try {
      const reply = await this.#limit.within(this.#send(args), this.#timeoutError);
      this.#reachable = true;
      return reply;
    } catch (error) {
      const { message } = error as Error;
      // Redis answers a command with an error that begins with its code.
      const isReply = /^[A-Z]{3,}\b/.test(message) && !isReplica(message);
      this.#reachable = isReply && !/^(?:LOADING|MASTERDOWN|CLUSTERDOWN|NOAUTH|WRONGPASS)\b/.test(message);
      if (isReply) throw new CommandRefused(this.#why(message), { cause: error as Error });
      throw new StoreUnreachable(`Redis cannot be reached: ${message || 'the connection is closed'}`, { cause: error });
    }
  }

  /**
   * The value of a JSON text that Redis had. A larger one is not parsed, because that could take minutes.
   *
   * @param most the most bytes that are ever written.
   * @throws Error if somebody else has written the text.
   */
  parse(text: string, most: number): unknown {
    if (text.length <= most) return JSON.parse(text);
    throw new Error(
      `Something else has written a key that begins with ${this.#prefix}: its value is larger than ${most} bytes`,
    );
  }

  #why(reply: string): string {
    if (!reply.startsWith('WRONGTYPE')) return reply;
    return `something else has written a key that begins with ${this.#prefix}: ${reply}`;
  }
}

/** Whether a client is for a cluster or Sentinel, or a pool. Then commands are not done in the order in which they are sent. */
function hasSeveralConnections(client: object): boolean {
  // What only `createCluster`, `createSentinel` and `createClientPool` of `@redis/client` have. A client also has the scripts of its
  // program, under names such as `acquire` or `execute`.
  if (['masters', 'getMasterNode', 'totalClients'].some((name) => name in client)) return true;
  return 'isCluster' in client && client.isCluster === true;
}

/**
 * Whether a server has refused a command because it is only a replica, or has become one while the command waited. Who asks it has
 * the wrong one, as after a failover.
 */
export function isReplica(refusal: string): boolean {
  return /^(?:READONLY|UNBLOCKED) /.test(refusal);
}

/** Lua knows no infinity as a text, and Redis no later time than this. */
export function finite(bound: number): number {
  return Math.min(Math.ceil(bound), 1e15);
}
