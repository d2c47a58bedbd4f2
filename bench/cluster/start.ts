import { programs, startServer, type RunningServer } from '../../test/support/process.ts';
import { redisOnPath, startRedis } from '../../test/support/redis-server.ts';
import { HttpConnection } from '../http-connection.ts';
import { HttpSession } from '../http-session.ts';
import { peerScript } from '../processes.ts';

/** The secret of all processes that share one Redis. */
const KEY = 'the-state-key-of-all-processes';

/** How many sessions are opened at the same time. */
const OPENING = 8;

/** Several processes that share one Redis. */
export interface Cluster {
  readonly servers: readonly RunningServer[];
  /** Starts one more. */
  add: () => Promise<RunningServer>;
}

/** The arguments of `node` for the processes that the rows start. */
export const everwire = [peerScript('cluster-everwire')];
export const sdk = [peerScript('cluster-sdk-v1')];
/** A bridge that starts a child for each client. */
export const bridge = [...programs.everwire, 'bridge', '--port', '0', '--', process.execPath, peerScript('bare-stdio')];

/**
 * Starts processes with a Redis of their own, and ends everything after `use`.
 *
 * @param program gets the store, and the key if it is ours, before `--`.
 */
export async function withCluster<T>(
  count: number,
  program: readonly string[],
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const redis = await startRedis(redisOnPath()!);
  const servers: RunningServer[] = [];
  const args = [...program];
  const end = args.indexOf('--');
  const shared = ['--store', redis.url, ...(program === sdk ? [] : ['--state-key', KEY])];
  args.splice(end < 0 ? args.length : end, 0, ...shared);
  const addOne = async (): Promise<RunningServer> => {
    const server = await startServer(args);
    servers.push(server);
    return server;
  };
  try {
    await Promise.all(Array.from({ length: count }, addOne));
    return await use({ servers: [...servers], add: addOne });
  } finally {
    await Promise.all(servers.map(endNow));
    await redis.stop();
  }
}

/** Starts processes that share nothing, and ends them after `use`. */
export async function withServers<T>(
  count: number,
  args: readonly string[],
  use: (servers: readonly [RunningServer, ...RunningServer[]]) => Promise<T>,
): Promise<T> {
  const starting = Array.from({ length: count }, () => startServer(args));
  try {
    const [first, ...others] = await Promise.all(starting);
    return await use([first!, ...others]);
  } finally {
    for (const started of await Promise.allSettled(starting))
      if (started.status === 'fulfilled') await endNow(started.value);
  }
}

/** Ends a process, also one that is stopped. */
export async function endNow(server: RunningServer): Promise<void> {
  server.child.kill('SIGKILL');
  await server.stop();
}

/** A connection to a process. */
export function connectTo({ url }: Pick<RunningServer, 'url'>): HttpConnection {
  return new HttpConnection(new URL(url));
}

/** Opens sessions at a process, several at a time. */
export async function openSessions({ url }: RunningServer, count: number): Promise<HttpSession[]> {
  const sessions: HttpSession[] = [];
  const at = new URL(url);
  await inLanes(Array(count).keys(), OPENING, async () => {
    const connection = new HttpConnection(at);
    sessions.push(await HttpSession.open(at, connection));
    connection.close();
  });
  return sessions;
}

/** Works on items, so many at a time. */
export async function inLanes<T>(items: Iterable<T>, lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
