import { expect, test } from 'vitest';
import type { RedisClient } from './commands.ts';
import { checkServer } from './check-server.ts';

/** A server with these replies to `CLUSTER SLOTS` and to a script. */
function server(slots: unknown, script: unknown): RedisClient {
  return {
    sendCommand: async ([name]) => {
      const reply = name === 'CLUSTER' ? slots : script;
      if (reply instanceof Error) throw reply;
      return reply;
    },
  };
}
const noCluster = new Error('ERR This instance has cluster support disabled');
const range = (first: number, last: number, primary: number) => [
  ...[first, last, ['10.0.0.1', primary, `id${primary}`, []]],
  ['10.0.0.2', primary, `replica${primary}`, []],
];

test('a node of a cluster is refused, also one that has the keys', async () => {
  const slots = [range(0, 5460, 6379), range(5461, 10_922, 6380), range(10_923, 16_383, 6381)];
  for (const script of [[], new Error('MOVED 8644 10.0.0.1:6380')])
    await expect(checkServer(server(slots, script), 1000)).rejects.toThrow(
      'it is a node of a Redis Cluster, which is not supported',
    );
});

test('a server that does not tell its cluster is refused when another node has the keys', async () => {
  const client = server(
    new Error("NOPERM this user has no permissions to run the 'cluster|slots' command"),
    new Error('MOVED 8644 10.0.0.1:6380'),
  );
  await expect(checkServer(client, 1000)).rejects.toThrow('it is a node of a Redis Cluster');
});

test('the only node with slots is accepted, and so is a server without a cluster', async () => {
  for (const slots of [[range(0, 99, 6379), range(100, 16_383, 6379)], noCluster])
    await checkServer(server(slots, []), 1000);
});

test('a server that cannot run the scripts is named for what it is', async () => {
  for (const [reply, why] of [
    [
      "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'",
      'it is older than Redis 7: ERR Error compiling script',
    ],
    [
      "ERR unknown command 'EVALSHA', with args beginning with: '192c1b'",
      'it does not run scripts. If it is a Sentinel, give the address of the Redis server itself: ERR unknown command',
    ],
    ['NOPERM this user has no permissions', 'Redis has refused a command: NOPERM'],
  ] as const)
    await expect(checkServer(server(noCluster, new Error(reply)), 1000)).rejects.toThrow(why);
});
