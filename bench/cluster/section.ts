import { redisOnPath } from '../../test/support/redis-server.ts';
import { bareRedisRows } from './bare-redis.ts';
import { bridgedRows } from './bridged.ts';
import { callRows } from './calls.ts';
import { childRows, deathRows } from './deaths.ts';
import { deployRows } from './deploy.ts';
import { eventRows } from './events.ts';
import { add } from './goals.ts';
import { questionRows } from './questions.ts';
import { restartRows, supergatewayRows } from './restarts.ts';
import { workerRows } from './workers.ts';

/** Several processes with one Redis, and restarts with a store on one machine. */
export async function cluster(seconds: number, rounds: number): Promise<void> {
  const withRedis = {
    'native calls': () => callRows(seconds, rounds),
    'kill -9': deathRows,
    'the child of a bridge': childRows,
    questions: () => questionRows(seconds),
    'events elsewhere': () => eventRows(seconds),
    'bridged calls': () => bridgedRows(seconds),
    'bare Redis': () => bareRedisRows(seconds),
    'rolling deployment': deployRows,
    '--workers': () => workerRows(seconds, rounds),
  };
  const hasRedis = redisOnPath() !== undefined;
  if (!hasRedis) process.stderr.write('The rows with Redis are left out: install redis-server or valkey-server.\n');
  const parts = { ...(hasRedis && withRedis), restart: restartRows, 'restart of supergateway': supergatewayRows };
  for (const [what, measure] of Object.entries(parts)) {
    try {
      await measure();
    } catch (error) {
      // The others are measured, but the run fails.
      process.exitCode = 1;
      add(what, '', `failed: ${(error as Error).message.slice(0, 200)}`);
    }
  }
}
