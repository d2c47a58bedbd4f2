import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBridge, type Bridge } from '../../../src/bridge/bridge.ts';
import type { OfficialClient } from '../clients.ts';
import { connectDownstream, openFront, type Front } from './downstreams.ts';
import { SAME } from './feature.ts';
import { flowFeatures } from './features-flow.ts';
import { listFeatures } from './features-lists.ts';
import { questionFeatures } from './features-questions.ts';
import { KINDS } from './kinds.ts';
import { startUpstream, type Upstream } from './upstreams.ts';

const features = [...listFeatures, ...flowFeatures, ...questionFeatures];

describe.each(KINDS.map((up) => [up.heading, up] as const))('a bridge to a server of %s', (_up, up) => {
  const errors: Error[] = [];
  let upstream: Upstream;
  let bridge: Bridge;
  let front: Front;

  beforeAll(async () => {
    upstream = await startUpstream(up);
    const onerror = (error: Error): void => void errors.push(error);
    bridge = createBridge({ target: upstream.target, onerror });
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
      client = await connectDownstream(down, front);
    });

    afterAll(async () => {
      await client?.close();
    });

    for (const { name, arrives, run } of features) {
      const outcome = arrives(down, up);
      if (outcome === undefined) continue;
      const title = outcome === SAME ? name : `${name}: ${outcome}`;
      test(title, async () => {
        await run({ client, world: upstream.world, down, up }, outcome);
      });
    }

    test('nothing that the client could not understand', () => {
      // What they say of the last report of progress where it comes in one chunk with the result.
      const known = /progress notification for an unknown token/;
      expect(client.errors.map(({ message }) => message).filter((message) => !known.test(message))).toEqual([]);
    });
  });

  test('nothing that the bridge could not tell its clients', () => {
    expect(errors).toEqual([]);
  });
});
