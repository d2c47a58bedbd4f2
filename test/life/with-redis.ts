import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { programs, type RunningServer } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';
import { World } from './world.ts';

/** The secret of all servers that share one Redis. */
export const KEY = 'the-state-key-of-all-processes';

/** A Redis server, and what uses it in one test. */
export interface Shared {
  readonly redis: RedisServer;
  /** Everything that was started in it is stopped after the test. */
  readonly world: World;
  /** Starts servers that share the Redis. They get its URL and the key before `--`. */
  serve(count: number, program?: readonly string[]): Promise<RunningServer[]>;
}

/** Describes tests with one Redis server for all of them. They are skipped if there is none on this machine. */
export function describeWithRedis(name: string, body: (shared: Shared) => void): void {
  const command = findRedis();
  let redis: RedisServer;
  let world: World;
  describe.skipIf(command === undefined)(name, () => {
    beforeAll(async () => {
      redis = await startRedis(command!);
    });
    afterAll(() => redis.stop());
    beforeEach(() => {
      world = new World();
    });
    afterEach(() => world.end());
    body({
      get redis() {
        return redis;
      },
      get world() {
        return world;
      },
      serve: (count, program = programs.features) => {
        const args = [...program];
        const end = args.indexOf('--');
        args.splice(end < 0 ? args.length : end, 0, '--store', redis.url, '--state-key', KEY);
        return Promise.all(Array.from({ length: count }, () => world.serve(args)));
      },
    });
  });
}
