import assert from 'node:assert/strict';
import type { NodeId } from '../../store/bus.ts';
import type { Claims } from '../../store/claims.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** One process of several that use the same claims. They may all be in this process. */
export interface ClaimsNode {
  readonly node: NodeId;
  readonly claims: Claims;
  /** Ends the node. Resolves when the others can know that it has ended. */
  end(): Promise<void>;
}

/**
 * Test cases for every `Claims`.
 *
 * @param open starts nodes with claims of their own, and resolves when each counts as alive. Called once per case. Ending
 * them is up to the caller.
 */
export function claimsSuite(open: (count: number) => Promise<readonly ClaimsNode[]>): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (name: string, run: (nodes: readonly [ClaimsNode, ClaimsNode, ClaimsNode]) => Promise<void>): void => {
    const start = async (): Promise<void> => {
      const [a, b, c] = await open(3);
      await run([a!, b!, c!]);
    };
    cases.push({ name, run: start });
  };

  define('the first process that claims something has it, and the others learn who', async ([a, b, c]) => {
    assert.equal(a.claims.holds('key'), false);
    assert.equal(await a.claims.claim('key'), a.node);
    assert.equal(await b.claims.claim('key'), a.node);
    assert.equal(await c.claims.claim('key'), a.node);
    assert.equal(await a.claims.claim('key'), a.node);
    assert.deepEqual([a.claims.holds('key'), b.claims.holds('key'), c.claims.holds('key')], [true, false, false]);
  });

  define(
    'a text that is kept with a claim passes to the next process, and only who has the claim can change it',
    async (nodes) => {
      const [a, b] = nodes;
      if (!nodes.every(({ claims }) => 'keep' in claims && 'kept' in claims)) return;
      assert.equal(await a.claims.kept!('key'), undefined);
      await a.claims.keep!('key', 'nobody has it');
      assert.equal(await a.claims.kept!('key'), undefined);
      await a.claims.claim('key');
      await a.claims.keep!('key', 'old');
      await a.claims.keep!('key', 'ü "new"');
      await b.claims.keep!('key', 'of another');
      await a.claims.release('key');
      await b.claims.claim('key');
      assert.equal(await b.claims.kept!('key'), 'ü "new"');
      assert.equal(await b.claims.kept!('other'), undefined);
      await a.claims.keep!('key', undefined);
      assert.equal(await b.claims.kept!('key'), 'ü "new"');
      await b.claims.keep!('key', undefined);
      assert.equal(await b.claims.kept!('key'), undefined);
    },
  );

  define('keys are independent, whatever they are', async ([a, b]) => {
    for (const key of ['', '__proto__', 'x'.repeat(100_000), 'line\nbreak \ud800', '["ü",null]']) {
      assert.equal(await b.claims.claim(key), b.node);
      assert.equal(await a.claims.claim(key), b.node);
      assert.equal(await a.claims.claim(`${key} `), a.node);
    }
  });

  define('of many that claim at the same time, one has it', async (nodes) => {
    const claims = Array.from({ length: 30 }, (_, n) => nodes[n % 3]!.claims.claim('key'));
    const holders = new Set(await Promise.all(claims));
    assert.equal(holders.size, 1);
    const [holder] = holders;
    assert.deepEqual(
      nodes.map(({ claims: each }) => each.holds('key')),
      nodes.map(({ node }) => node === holder),
    );
  });

  define('what is given up can be claimed, and only its holder can give it up', async ([a, b]) => {
    await a.claims.claim('key');
    await b.claims.release('key');
    assert.equal(await b.claims.claim('key'), a.node);
    await a.claims.release('key');
    assert.equal(a.claims.holds('key'), false);
    assert.equal(await b.claims.claim('key'), b.node);
    await a.claims.release('key');
    assert.equal(await a.claims.claim('key'), b.node);
    await a.claims.release('never claimed');
  });

  define('a process that is gone has nothing', async ([a, b, c]) => {
    await a.claims.claim('key');
    await a.end();
    assert.equal(await b.claims.claim('key'), b.node);
    assert.equal(await c.claims.claim('key'), b.node);
  });

  define('nobody loses a claim while it is alive', async ([a, b]) => {
    const lost: string[] = [];
    const remove = a.claims.onlost((key) => lost.push(key));
    await a.claims.claim('key');
    await b.claims.claim('key');
    await a.claims.claim('other');
    await a.claims.release('other');
    await b.claims.claim('other');
    await a.claims.claim('other');
    assert.deepEqual(lost, []);
    remove();
  });

  return cases;
}
