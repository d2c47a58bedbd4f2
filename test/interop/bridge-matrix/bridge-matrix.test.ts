import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBridge, type Bridge } from '../../../src/bridge/bridge.ts';
import type { OfficialClient } from '../clients.ts';
import { connectDownstream, openFront, type Front } from './downstreams.ts';
import { LATE_PROGRESS, SAME } from './feature.ts';
import { features } from './features.ts';
import { KINDS } from './kinds.ts';
import { insteadTable, matrixTable, scoreOf } from './table.ts';
import { startUpstream, type Upstream } from './upstreams.ts';

/** `client|server|feature` for each feature that passed. */
const passed = new Set<string>();

afterAll(() => {
  const score = matrixTable((down, up) =>
    scoreOf(features, down, up, ({ name }) => passed.has(`${down.heading}|${up.heading}|${name}`)),
  );
  console.info(
    `Through a bridge, features that passed of those that both ends have, + those that arrive otherwise:\n${score}`,
  );
});

describe.each(KINDS.map((up) => [up.heading, up] as const))('a bridge to a server of %s', (_up, up) => {
  const errors: Error[] = [];
  let upstream: Upstream;
  let bridge: Bridge;
  let front: Front;

  beforeAll(async () => {
    upstream = await startUpstream(up);
    const onerror = (error: Error): void => void errors.push(error);
    bridge = createBridge({ target: upstream.target, anonymous: 'same-user', onerror });
    front = await openFront(bridge.service, onerror);
  });

  afterAll(async () => {
    await front?.stop();
    await bridge?.close();
    await upstream?.stop();
  });

  describe.each(KINDS.map((down) => [down.heading, down] as const))('from a client of %s', (_down, down) => {
    let client: OfficialClient;

    beforeAll(async () => {
      client = await connectDownstream(down, front.target);
    });

    afterAll(async () => {
      await client?.close();
    });

    for (const { name, arrives, run } of features) {
      const outcome = arrives(down, up);
      if (outcome === undefined) continue;
      test(outcome === SAME ? name : `${name}: ${outcome}`, async () => {
        await run({ client, world: upstream.world, down, up }, outcome);
        passed.add(`${down.heading}|${up.heading}|${name}`);
      });
    }

    test('the client reports no error', () => {
      const messages = client.errors.map(({ message }) => message);
      expect(messages.filter((message) => !LATE_PROGRESS.test(message))).toEqual([]);
    });
  });

  test('the bridge reports no error', () => {
    expect(errors).toEqual([]);
  });
});

test.each([
  ['matrix', matrixTable((down, up) => scoreOf(features, down, up))],
  ['table of differences', insteadTable(features)],
])('docs/bridge-translation.md has the measured %s', (_, table) => {
  const wanted = table.split('\n').map(row);
  const lines = readFileSync(new URL('../../../docs/bridge-translation.md', import.meta.url), 'utf8')
    .split('\n')
    .map(row);
  const from = lines.indexOf(wanted[0]!);
  expect(lines.slice(from, from + wanted.length)).toEqual(wanted);
});

/** Ignores the width of the columns. */
function row(line: string): string {
  return line.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
}
