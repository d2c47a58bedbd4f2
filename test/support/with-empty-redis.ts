import { createClient } from '@redis/client';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { findRedis, startRedis, type RedisServer } from './redis-server.ts';

/** A Redis server for the tests of a group. */
export interface EmptyRedis {
  readonly server: RedisServer;
  /** Sees and changes what is stored. */
  readonly admin: ReturnType<typeof createClient>;
}

/** Describes tests that each begin with an empty Redis. They are skipped if there is none on this machine. */
export function describeWithEmptyRedis(name: string, body: (redis: EmptyRedis) => void): void {
  const command = findRedis();
  let server: RedisServer;
  let admin: ReturnType<typeof createClient>;
  describe.skipIf(command === undefined)(name, () => {
    beforeAll(async () => {
      server = await startRedis(command!);
      admin = createClient({ url: server.url });
      admin.on('error', () => {});
      await admin.connect();
    });
    afterAll(async () => {
      admin.destroy();
      await server.stop();
    });
    beforeEach(async () => void (await admin.flushAll()));
    body({
      get server() {
        return server;
      },
      get admin() {
        return admin;
      },
    });
  });
}
