import { peerUrl } from '../base/peer-url.ts';
import type { State } from '../store/state.ts';
import { Failure } from './failure.ts';
import { atLast } from './shutdown.ts';

/** The state that `--store` names. */
export interface OpenStore extends State {
  /** Whether the store can be reached. Undefined if it is always there. */
  readonly reachable?: boolean | undefined;
  /** See `RedisState`. */
  readonly refusal?: string | undefined;
  /** See `RedisState`. */
  readonly busDelay?: number | undefined;
}

/** How long a command to Redis may take. Milliseconds. */
const TIMEOUT = 5000;

/** What a store needs besides its place. */
export interface OpenStoreOptions {
  /** The secret with which processes recognize each other. Undefined if they pass nothing on to each other. */
  readonly stateKey: string | undefined;
  readonly onwarning: (message: string) => void;
}

/**
 * Opens the state that `--store` names: a directory, or the URL of a Redis server. It is closed after everything else.
 *
 * @throws Error if it cannot be opened. The message has no password.
 */
export async function openStore(place: string | undefined, options: OpenStoreOptions): Promise<OpenStore | undefined> {
  if (place === undefined) return undefined;
  // A letter alone is a drive of Windows.
  if (/^[a-z][a-z\d+.-]+:/i.test(place)) return openRedisStore(place, options);
  const { onwarning } = options;
  const { embeddedState } = await import('../store/embedded/embedded-state.ts');
  const state = await embeddedState(place, { onwarning });
  atLast(() => state.close());
  return state;
}

async function openRedisStore(given: string, { stateKey, onwarning }: OpenStoreOptions): Promise<OpenStore> {
  // The URL may contain a password, so no message contains it.
  const url = peerUrl(given);
  if (!url || !/^rediss?:$/.test(url.protocol))
    throw Failure.usage('--store must be a directory, or a URL such as redis://localhost:6379/0 or rediss://…');
  if (!/^\/?\d*$/.test(url.pathname))
    throw Failure.usage('--store: the URL of a Redis server must end with the number of a database, such as /0');
  if (url.search !== '' || url.hash !== '')
    throw Failure.usage('--store: the URL of a Redis server must not have a query or a fragment');
  if (!isDecodable(url.username) || !isDecodable(url.password))
    throw Failure.usage('--store: write % as %25 in the user and the password of the URL');
  const [{ openRedis, shownUrl }, { checkServer }, { KEYS }, { redisState }] = await Promise.all([
    import('../store/redis/open-redis.ts'),
    import('../store/redis/check-server.ts'),
    import('../store/redis/permissions.ts'),
    import('../store/redis/redis-state.ts'),
  ]);
  const onerror = ({ message }: Error): void => onwarning(message);
  const client = await openRedis(given, TIMEOUT, onerror);
  await checkServer(client, TIMEOUT).catch((cause: Error) => {
    throw new Error(`The store ${shownUrl(given)} cannot be used with the keys ${KEYS}: ${cause.message}`, { cause });
  });
  // Its reader has the same address, so what keeps it away is reported once.
  const bus = stateKey === undefined ? undefined : { reader: await openRedis(given, TIMEOUT), stateKey, onerror };
  const state = redisState(client, { timeout: TIMEOUT, bus });
  atLast(async () => {
    await state.close();
    await Promise.all([client.close(), bus?.reader.close()]);
  });
  return state;
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}
