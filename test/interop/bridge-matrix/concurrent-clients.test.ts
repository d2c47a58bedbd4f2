import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBridge, type Bridge } from '../../../src/bridge/bridge.ts';
import type { OfficialClient } from '../clients.ts';
import { connectDownstream, openFront, type Front } from './downstreams.ts';
import { textOf } from './feature.ts';
import { KINDS, type Kind } from './kinds.ts';
import { startUpstream, type Upstream } from './upstreams.ts';

/** Servers, and how clients share their connections. */
const BRIDGES = [
  ['2025-06-18 HTTP', 'per-session'],
  ['2025-06-18 HTTP', 3],
  ['2025-11-25 HTTP', 'per-session'],
  ['2025-11-25 HTTP', 'shared'],
  ['2025-11-25 stdio', 'per-session'],
  ['2025-11-25 stdio', 'shared'],
  ['2025-11-25 stdio', 3],
  ['2026-07-28 HTTP', 'per-session'],
  ['2026-07-28 stdio', 'shared'],
] as const;
/** How many times each client does everything, all in parallel. */
const TIMES = 3;

interface Guest {
  readonly kind: Kind;
  readonly client: OfficialClient;
}

/** A client whose answers all contain its name. */
async function arrive(kind: Kind, front: Front): Promise<Guest> {
  const client = await connectDownstream(kind, front.target);
  const name = kind.heading;
  client.answers.elicitation = () => ({ action: 'accept', content: { name } });
  client.answers.sampling = () => ({ role: 'assistant', content: { type: 'text', text: name }, model: 'm' });
  client.answers.roots = () => ({ roots: [{ uri: rootOf(kind) }] });
  return { kind, client };
}

const rootOf = ({ heading }: Kind): string => `file:///of/${encodeURIComponent(heading)}`;

/** Calls each tool that asks once, one after the other, so that a shared connection knows that these tools ask. */
async function introduce({ kind, client }: Guest, up: Kind): Promise<void> {
  await client.callTool({ name: 'sample' });
  await client.callTool({ name: 'roots' });
  if (up.revision >= '2025-06-18') await elicited(client, kind);
}

/** Makes all calls at once. Every result must belong to this client. */
async function talk({ kind, client }: Guest, up: Kind): Promise<void> {
  const name = kind.heading;
  const parsed = async (tool: string, args?: object): Promise<unknown> =>
    JSON.parse(textOf(await client.callTool({ name: tool, ...(args && { arguments: args }) })));
  const seen: number[] = [];
  const [echo, sampled, roots, counted] = await Promise.all([
    parsed('echo', { word: name }),
    parsed('sample'),
    parsed('roots'),
    client.callTool({ name: 'count' }, { onprogress: ({ progress }) => seen.push(progress) }),
    ...(up.revision < '2025-06-18' ? [] : [elicited(client, kind)]),
  ]);
  expect(echo).toEqual({ word: name });
  expect(sampled).toMatchObject({ content: { type: 'text', text: name } });
  expect(roots).toMatchObject({ roots: [{ uri: rootOf(kind) }] });
  expect(textOf(counted)).toBe('counted');
  // Some progress may be lost, but what arrives belongs to this call.
  expect(seen).toEqual([1, 2, 3].slice(0, client.losesLateProgress ? seen.length : 3));
}

async function elicited(client: OfficialClient, { revision, heading }: Kind): Promise<void> {
  const outcome = await client.callTool({ name: 'ask' }).catch((error: Error) => error);
  if (revision < '2025-06-18')
    return expect(JSON.stringify(outcome, ['message', 'content', 'text']), heading).toMatch(/elicitation/);
  if (outcome instanceof Error) throw outcome;
  expect(JSON.parse(textOf(outcome))).toMatchObject({ action: 'accept', content: { name: heading } });
}

describe.each(BRIDGES)('a bridge to a server of %s, connections %s', (heading, connections) => {
  const up = KINDS.find((kind) => kind.heading === heading)!;
  const errors: Error[] = [];
  let upstream: Upstream;
  let bridge: Bridge;
  let front: Front;
  let guests: Guest[];

  beforeAll(async () => {
    upstream = await startUpstream(up);
    const onerror = (error: Error): void => void errors.push(error);
    bridge = createBridge({ target: upstream.target, connections, onerror });
    front = await openFront(bridge.service, onerror);
    guests = await Promise.all(KINDS.map((kind) => arrive(kind, front)));
    for (const guest of guests) await introduce(guest, up);
  });

  afterAll(async () => {
    await Promise.all((guests ?? []).map(({ client }) => client.close()));
    await front?.stop();
    await bridge?.close();
    await upstream?.stop();
  });

  test('gives clients of all kinds their own responses while all call at once', async () => {
    const times = Array.from({ length: TIMES });
    await Promise.all(guests.flatMap((guest) => times.map(() => talk(guest, up))));
    expect(bridge.waiting).toBe(0);
    expect(errors).toEqual([]);
  });
});
