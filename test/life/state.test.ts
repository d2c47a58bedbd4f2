import { describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOurs } from 'everwire/client';
import { eventually } from '../support/process.ts';
import { connect, isModern, KINDS, type LifeClient } from './clients.ts';
import { at, bridgeTo, over, World } from './world.ts';

/**
 * A client has one connection to a handshake server. Everything that the server remembers is there for all calls of the
 * client, sequential or parallel, and no other process is started.
 */

const MODES: [mode: string, options: string[]][] = [
  ['per session', []],
  ['--shared', ['--shared']],
  ['--pool 2', ['--pool', '2']],
];
const ALONE = 3;
const AT_ONCE = 5;
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

interface Counted {
  /** The number of the call in its process. */
  readonly calls: number;
  readonly pid: number;
}

function newWorld(): World {
  const world = new World();
  onTestFinished(() => world.end());
  return world;
}

/** Makes calls one after the other, and then several in parallel, which are answered only when all have started. */
async function counts(client: LifeClient, world: World): Promise<Counted[]> {
  const count = async (gate?: string, onbegin?: () => void): Promise<Counted> =>
    JSON.parse(await client.call('count', gate === undefined ? {} : { gate }, { onbegin }));
  const counted: Counted[] = [];
  for (let call = 0; call < ALONE; call += 1) counted.push(await count());
  const gate = world.gate();
  let begun = 0;
  const onbegin = (): void => {
    if ((begun += 1) === AT_ONCE) gate.open();
  };
  return [...counted, ...(await Promise.all(upTo(AT_ONCE).map(() => count(gate.name, onbegin))))];
}

/** The same for a third-party server that answers at once. Returns the length of its history after each call. */
async function thoughts(client: LifeClient): Promise<number[]> {
  const think = async (thoughtNumber: number): Promise<number> => {
    const thought = { thought: 'on', nextThoughtNeeded: true, thoughtNumber, totalThoughts: ALONE + AT_ONCE };
    return (await client.structured('sequentialthinking', thought))['thoughtHistoryLength'];
  };
  const lengths: number[] = [];
  for (let call = 1; call <= ALONE; call += 1) lengths.push(await think(call));
  return [...lengths, ...(await Promise.all(upTo(AT_ONCE).map((call) => think(ALONE + call))))];
}

/** Expects one process for each client, and that each process has counted all calls of its clients. */
function expectOneProcessEach(ofClients: readonly Counted[][]): Map<number, Counted[]> {
  const ofProcesses = new Map<number, Counted[]>();
  for (const counted of ofClients) {
    expect(new Set(counted.map(({ pid }) => pid)).size).toBe(1);
    const { pid } = counted[0]!;
    ofProcesses.set(pid, [...(ofProcesses.get(pid) ?? []), ...counted]);
  }
  for (const counted of ofProcesses.values())
    expect(ascending(counted.map(({ calls }) => calls))).toEqual(upTo(counted.length));
  return ofProcesses;
}

/** Expects only the processes that these clients need. The process of the first check has ended. */
async function expectProcesses(world: World, before: number, processes: number): Promise<void> {
  await eventually(() => world.alive.length <= processes, `${processes} processes; there are ${world.alive.length}`);
  expect(world.alive).toHaveLength(processes);
  expect(world.started.length - before).toBeLessThanOrEqual(processes);
}

describe.each(MODES)('behind a bridge over HTTP, %s', (mode, options) => {
  const processes = { 'per session': KINDS.length, '--shared': 1, '--pool 2': 2 }[mode]!;

  test('a counting server counts all calls of a client', async () => {
    const world = newWorld();
    const target = at(await world.serve(bridgeTo(world.stateful, '--port', '0', ...options)));
    const before = world.started.length;
    const clients = await Promise.all(KINDS.map((kind) => connect(kind, 'http', target)));
    const ofProcesses = expectOneProcessEach(await Promise.all(clients.map((client) => counts(client, world))));
    expect(ofProcesses.size).toBe(processes);
    await expectProcesses(world, before, processes);
  });

  test('server-sequential-thinking has all thoughts of a client', async () => {
    const world = newWorld();
    const target = at(await world.serve(bridgeTo(world.sequentialThinking, '--port', '0', ...options)));
    const before = world.started.length;
    // Each of two sessions has one of two connections. A client without a session may share one of them.
    const kinds = KINDS.filter((kind) => mode !== '--pool 2' || !isModern(kind)).slice(0, 2);
    const clients = await Promise.all(kinds.map((kind) => connect(kind, 'http', target)));
    const lengths = await Promise.all(clients.map(thoughts));
    const ofProcesses = mode === '--shared' ? [lengths.flat()] : lengths;
    for (const ofProcess of ofProcesses) expect(ascending(ofProcess)).toEqual(upTo(ofProcess.length));
    await expectProcesses(world, before, ofProcesses.length);
  });
});

describe.each(MODES)('behind a bridge over stdio, %s', (_, options) => {
  test.each(KINDS)('a server gets all calls of its client (%s)', async (kind) => {
    const [counting, thinking] = [newWorld(), newWorld()];
    const [counter, thinker] = await Promise.all([
      connect(kind, 'stdio', over(bridgeTo(counting.stateful, '--stdio', ...options))),
      connect(kind, 'stdio', over(bridgeTo(thinking.sequentialThinking, '--stdio', ...options))),
    ]);
    expectOneProcessEach([await counts(counter, counting)]);
    expect(ascending(await thoughts(thinker))).toEqual(upTo(ALONE + AT_ONCE));
    // The official client 2.x starts its command twice. The first process is only asked for its revision.
    const before = kind === 'official 2.x, 2026-07-28' ? 1 : 0;
    await expectProcesses(counting, before, 1);
    await expectProcesses(thinking, before, 1);
  });
});

describe('callers without a session over HTTP', () => {
  async function pids(
    options: string[],
    callers: { name: string; version: string; token?: string }[],
  ): Promise<number[]> {
    const world = newWorld();
    const { url } = await world.serve(bridgeTo(world.stateful, '--port', '0', ...options));
    return Promise.all(
      callers.map(async ({ token, ...clientInfo }) => {
        const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const client = await connectOurs(url, { eras: 'modern', clientInfo, headers });
        onTestFinished(() => client.close());
        const { content } = await client.callTool('count');
        return JSON.parse((content[0] as { text: string }).text).pid;
      }),
    );
  }

  test('are one client if they run the same program on this machine', async () => {
    const [first, again, other, newer] = await pids(
      [],
      [
        { name: 'ada', version: '1' },
        { name: 'ada', version: '1' },
        { name: 'grace', version: '1' },
        { name: 'ada', version: '2' },
      ],
    );
    expect(again).toBe(first);
    expect(new Set([first, other, newer]).size).toBe(3);
  });

  test('are one client if they have the same principal and program', async () => {
    const [first, again, other] = await pids(
      ['--bearer', 'token-of-ada', '--bearer', 'token-of-grace'],
      [
        { name: 'ada', version: '1', token: 'token-of-ada' },
        { name: 'ada', version: '1', token: 'token-of-ada' },
        { name: 'ada', version: '1', token: 'token-of-grace' },
      ],
    );
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});
