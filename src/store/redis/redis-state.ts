import { reportTo } from '../../jsonrpc/stderr-report.ts';
import type { MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { MemoryEventLogOptions } from '../memory.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { Bus } from '../bus.ts';
import type { Claims } from '../claims.ts';
import type { NodeId, State } from '../state.ts';
import { RedisBus, type RedisBusParts } from './bus.ts';
import { checkReader } from './check-reader.ts';
import { RedisClaims } from './claims.ts';
import { Commands, PREFIX, type RedisClient } from './commands.ts';
import { RedisEvents } from './events.ts';
import { Heartbeat } from './heartbeat.ts';
import { newNodeId } from './node-id.ts';
import { RedisSessions } from './sessions.ts';
import { RedisTasks } from './tasks.ts';

/** What several processes need to pass messages on to each other. */
export interface RedisBusOptions {
  /** Another connected client for the same database. Nothing else may use it, because it waits for messages. */
  readonly reader: RedisClient;
  /**
   * A secret of at least 16 bytes, the same in all processes: the `stateKey` of the server. Messages that were made without
   * it are ignored.
   */
  readonly stateKey: string | Uint8Array;
  /**
   * Called once if there is a message that was made without the key, and once if another process that has another key would get
   * one. Also called if Redis begins to refuse the heartbeats of this process, or to let it read its messages. Default: none.
   */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** Where in Redis a state is, and its limits. All processes that share it should have the same. */
export interface RedisStateOptions {
  /** Begins all keys, in braces. Servers with other clients need another one. Default `everwire`. */
  readonly prefix?: string | undefined;
  /** Milliseconds to wait for an answer of Redis. Default 5 000. */
  readonly timeout?: number | undefined;
  /**
   * Passes answers, cancellations, settings, changes and the ends of sessions on to the processes that they are for.
   * Default: they must reach these processes themselves.
   */
  readonly bus?: RedisBusOptions | undefined;
  /** Limits for sessions. Default as described there. The default clock is that of Redis. */
  readonly sessions?: SessionStoreOptions | undefined;
  /** Limits for the events of streams. Default as described there. The default clock is that of Redis. */
  readonly events?: MemoryEventLogOptions | undefined;
  /**
   * Limits for tasks. Default as described there. `maxAge` also limits a task without `ttlMs` that has not ended. The default
   * clock is that of Redis.
   */
  readonly tasks?: MemoryTaskStoreOptions | undefined;
}

/** A state in Redis. */
export interface RedisState extends State {
  /** Whether Redis has answered the newest command. There is at least one each second. */
  readonly reachable: boolean;
  /**
   * Why Redis refuses what this process asks of it all the time, in a few words: `out of memory`, `no permission`, `cannot save` or
   * `refuses commands`. Undefined if it refuses nothing, or cannot be reached.
   */
  readonly refusal: string | undefined;
  /** How many milliseconds another process took to confirm the newest confirmed message. Undefined before the first one. */
  readonly busDelay: number | undefined;
  /**
   * Whether a process has sent a heartbeat in the last three seconds, or in the last half second if Redis no longer has its
   * connection. If Redis had no heartbeat of this process, it may have missed those of others, too. So every process counts as
   * alive until three seconds after that.
   */
  isAlive(node: NodeId): Promise<boolean>;
  readonly bus: Bus | undefined;
  readonly claims: Claims;
  /** Ends the heartbeats of this process. Call it after the servers are closed. The clients stay open. */
  close(): Promise<void>;
  /** Does the same as `close`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Keeps the state of a server in Redis 7 or newer, or Valkey, so that it survives a restart. All keys have a time to
 * live and begin with the same prefix. A session id is never written there, only a hash of it. Several processes may use it
 * at once: each continues the sessions of the others, and ends the calls of those that have ended.
 *
 * @param client is connected, and stays open until it is closed by the caller. It is a client with one connection, so no
 * pool, and not one for a cluster. Turn off its offline queue, so that commands fail at once while there is no connection.
 * @throws TypeError if it is not such a client, or if the reader of the bus is the same client, is not connected or has
 * `enableAutoPipelining`. RangeError if a limit is negative or not a number, or the key is shorter than 16 bytes.
 */
export function redisState(client: RedisClient, options: RedisStateOptions = {}): RedisState {
  const { prefix = PREFIX, timeout = 5000 } = options;
  const commands = new Commands(client, prefix, timeout);
  if (options.bus) checkReader(options.bus.reader, client);
  const sessions = new RedisSessions(commands, options.sessions ?? {});
  const events = new RedisEvents(commands, options.events ?? {}, sessions.maxAge);
  const tasks = new RedisTasks(commands, options.tasks ?? {});
  const node = newNodeId(options.bus?.stateKey);
  const isAlive = (other: NodeId): Promise<boolean> => heartbeat.isAlive(other);
  const onerror = reportTo(options.bus?.onerror);
  const bus = options.bus && busOf({ ...options.bus, onerror }, { node, commands, timeout, isAlive }, prefix);
  const heartbeat: Heartbeat = new Heartbeat(
    commands,
    node,
    async () => bus?.join(),
    (sentAt, lapsed) => {
      if (lapsed) tasks.lost();
      return claims.beaten(sentAt, lapsed);
    },
    onerror,
  );
  const claims = new RedisClaims(commands, node, heartbeat);
  const close = async (): Promise<void> => {
    // Until the bus is closed, the others wait for its last answers, because this process is alive.
    await Promise.allSettled([bus?.close()]);
    await Promise.allSettled([heartbeat.close()]);
  };
  return {
    node,
    bus,
    claims,
    sessions,
    events,
    tasks,
    get reachable() {
      return commands.reachable;
    },
    get refusal() {
      return commands.reachable ? (heartbeat.refusal ?? bus?.refusal) : undefined;
    },
    get busDelay() {
      return bus?.delay;
    },
    isAlive,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function busOf(
  { reader, stateKey, onerror }: RedisBusOptions & Pick<RedisBusParts, 'onerror'>,
  about: Pick<RedisBusParts, 'node' | 'commands' | 'timeout' | 'isAlive'>,
  prefix: string,
): RedisBus {
  return new RedisBus({ ...about, reader: new Commands(reader, prefix, about.timeout), stateKey, onerror });
}
