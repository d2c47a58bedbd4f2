import type { State } from '../store/state.ts';
import { Failure } from './failure.ts';
import { atLast } from './shutdown.ts';

/** The state that `--store` names. */
export interface OpenStore extends State {
  /** Whether the store can be reached. Undefined if it is always there. */
  readonly reachable?: boolean | undefined;
}

/** How long a command to Redis may take. Milliseconds. */
const TIMEOUT = 5000;

/**
 * Opens the state that `--store` names: a directory, or the URL of a Redis server. It is closed after everything else.
 *
 * @throws Error if it cannot be opened. The message has no password.
 */
export async function openStore(
  place: string | undefined,
  onwarning: (message: string) => void,
): Promise<OpenStore | undefined> {
  if (place === undefined) return undefined;
  if (/^[a-z]{2,}:/i.test(place)) return openRedisStore(place);
  const { embeddedState } = await import('../store/embedded/embedded-state.ts');
  const state = await embeddedState(place, { onwarning });
  atLast(() => state.close());
  return state;
}

async function openRedisStore(given: string): Promise<OpenStore> {
  // The URL may contain a password.
  if (!URL.canParse(given) || !/^rediss?:$/.test(new URL(given).protocol))
    throw Failure.usage('--store must be a directory, or a URL such as redis://localhost:6379/0 or rediss://…');
  const [{ openRedis }, { redisState }] = await Promise.all([
    import('../store/redis/open-redis.ts'),
    import('../store/redis/redis-state.ts'),
  ]);
  const client = await openRedis(given, TIMEOUT);
  const state = redisState(client, { timeout: TIMEOUT });
  atLast(async () => {
    await state.close();
    await client.close();
  });
  return state;
}
