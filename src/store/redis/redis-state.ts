import { randomBytes } from 'node:crypto';
import type { MemoryTaskStoreOptions } from '../memory-tasks.ts';
import type { MemoryEventLogOptions } from '../memory.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { NodeId, State } from '../state.ts';
import { Commands, type RedisClient } from './commands.ts';
import { RedisEvents } from './events.ts';
import { Heartbeat } from './heartbeat.ts';
import { RedisSessions } from './sessions.ts';
import { RedisTasks } from './tasks.ts';

/** Where in Redis a state is, and its limits. All processes that share it should have the same. */
export interface RedisStateOptions {
  /** Begins all keys, in braces. Servers with other clients need another one. Default `everwire`. */
  readonly prefix?: string | undefined;
  /** Milliseconds to wait for an answer of Redis. Default 5 000. */
  readonly timeout?: number | undefined;
  /** Limits for sessions. Default as described there. The default clock is that of Redis. */
  readonly sessions?: SessionStoreOptions | undefined;
  /** Limits for the events of streams. Default as described there. The default clock is that of Redis. */
  readonly events?: MemoryEventLogOptions | undefined;
  /** Limits for tasks. Default as described there. `maxAge` also limits a task without `ttlMs` that has not ended. */
  readonly tasks?: MemoryTaskStoreOptions | undefined;
}

/** A state in Redis. */
export interface RedisState extends State {
  /** Whether Redis has answered the newest command. Each second, there is one. */
  readonly reachable: boolean;
  /** Whether a process has given a sign of life in the last three seconds. */
  isAlive(node: NodeId): Promise<boolean>;
  /** Ends the signs of life of this process. Call it after the servers are closed. The client stays open. */
  close(): Promise<void>;
  /** Does the same as `close`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Keeps the state of a server in Redis 7 or newer, or Valkey, so that it survives a restart. All keys have a time to
 * live and begin with the same prefix. A session id is never written there, only a hash of it. Several processes may use it
 * at once: each continues the sessions of the others, and ends the calls of those that are gone.
 *
 * @param client is connected, and stays open until it is closed by the caller. It is a client for one server, not for a
 * cluster. Turn off its queue for the time without a connection, so that calls fail at once then.
 * @throws TypeError if it is no client of Redis. RangeError if a limit is negative or not a number.
 */
export function redisState(client: RedisClient, options: RedisStateOptions = {}): RedisState {
  const commands = new Commands(client, options.prefix ?? 'everwire', options.timeout ?? 5000);
  const sessions = new RedisSessions(commands, options.sessions ?? {});
  const node = randomBytes(8).toString('hex');
  const heartbeat = new Heartbeat(commands, node);
  const close = (): Promise<void> => heartbeat.close().catch(() => {});
  return {
    node,
    sessions,
    events: new RedisEvents(commands, options.events ?? {}, sessions.maxAge),
    tasks: new RedisTasks(commands, options.tasks ?? {}),
    get reachable() {
      return commands.reachable;
    },
    isAlive: (other) => heartbeat.isAlive(other),
    close,
    [Symbol.asyncDispose]: close,
  };
}
