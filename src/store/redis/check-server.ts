import { Commands, PREFIX, type RedisClient } from './commands.ts';
import { checkPermissions } from './permissions.ts';

const IN_CLUSTER = 'it is a node of a Redis Cluster, which is not supported';
/** Why a server refuses scripts, by the beginning of its error. */
const WHY: readonly (readonly [error: RegExp, why: string])[] = [
  [/^ERR Error compiling script/, 'it is older than Redis 7'],
  [/^ERR unknown command/, 'it does not run scripts. If it is a Sentinel, give the address of the Redis server itself'],
  [/^(?:MOVED|CLUSTERDOWN) /, IN_CLUSTER],
];

/**
 * Checks that a server can be used for a state, and the user of a client may run all commands. Otherwise, each part would fail
 * when it is first used.
 *
 * @param timeout milliseconds.
 * @throws Error that says what is lacking, or what the server is. StoreUnreachable.
 */
export async function checkServer(client: RedisClient, timeout: number): Promise<void> {
  const commands = new Commands(client, PREFIX, timeout);
  // A node that has the keys would serve them until they move, and a new connection might lead to another node.
  if ((await countNodes(commands)) > 1) throw new Error(IN_CLUSTER);
  await checkPermissions(commands).catch((cause: Error) => {
    const reply = (cause.cause as Error | undefined)?.message ?? '';
    const why = WHY.find(([error]) => error.test(reply))?.[1];
    throw why === undefined ? cause : new Error(`${why}: ${reply}`, { cause });
  });
}

/** How many nodes of a cluster have the keys. 0 if the server is in no cluster, or does not tell. */
async function countNodes(commands: Commands): Promise<number> {
  const ranges = await commands.send(['CLUSTER', 'SLOTS']).catch((error: Error) => {
    if (!commands.reachable) throw error;
  });
  if (!Array.isArray(ranges)) return 0;
  // The first one of a range is the primary.
  return new Set(ranges.map(([, , node]) => JSON.stringify(node))).size;
}
