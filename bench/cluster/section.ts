import { redisOnPath } from '../../test/support/redis-server.ts';
import { bridgedRows } from './bridged.ts';
import { callRows } from './calls.ts';
import { childRows, deathRows } from './deaths.ts';
import { deployRows } from './deploy.ts';
import { eventRows } from './events.ts';
import { questionRows } from './questions.ts';
import { restartRows } from './restarts.ts';

/** Several processes with one Redis, and restarts with a store on one machine. */
export async function cluster(seconds: number, rounds: number): Promise<void> {
  if (redisOnPath() === undefined) {
    process.stderr.write('The rows with Redis are left out: install redis-server or valkey-server.\n');
  } else {
    await callRows(seconds, rounds);
    await deathRows();
    await childRows();
    await questionRows(seconds);
    await eventRows(seconds);
    await bridgedRows(seconds);
    await deployRows();
  }
  await restartRows();
}
