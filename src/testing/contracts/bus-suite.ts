import assert from 'node:assert/strict';
import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Bus, NodeId } from '../../store/bus.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** One process of several that use a bus. They may all be in this process. */
export interface BusNode {
  readonly node: NodeId;
  readonly bus: Bus;
  /** Ends the node. Resolves when the others can know that it is gone. */
  end(): Promise<void>;
}

/**
 * Test cases for every `Bus`.
 *
 * @param open starts nodes with a bus of their own, and resolves when each can reach the others. Called once per case.
 * Ending them is up to the caller.
 */
export function busSuite(open: (count: number) => Promise<readonly BusNode[]>): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (name: string, run: (nodes: readonly [BusNode, BusNode, BusNode]) => Promise<void>): void => {
    const start = async (): Promise<void> => {
      const [a, b, c] = await open(3);
      await run([a!, b!, c!]);
    };
    cases.push({ name, run: start });
  };

  define('a message reaches its node, and no other', async ([a, b, c]) => {
    const [atA, atB, atC] = [a, b, c].map((node) => received(node)) as [JsonObject[], JsonObject[], JsonObject[]];
    const body = { text: 'line\nbreak \u2028 ünï 😀 \ud800', deep: [{ null: null }, [], 1.5, true], '': '' };
    assert.equal(await a.bus.send(b.node, 'kind', body), true);
    assert.deepEqual([atA, atB, atC], [[], [body], []]);
    assert.notEqual(atB[0], body);
  });

  define('a large message arrives', async ([a, b]) => {
    const atB = received(b);
    const body = { text: 'ü'.repeat(2 * 1024 * 1024) };
    assert.equal(await a.bus.send(b.node, 'kind', body), true);
    assert.equal(atB[0]?.['text'], body.text);
  });

  define('the sender learns whether a listener has taken the message', async ([a, b]) => {
    assert.equal(await a.bus.send(b.node, 'kind', {}), false);
    const removed = b.bus.on('kind', () => true);
    assert.equal(await a.bus.send(b.node, 'other kind', {}), false);
    for (const kind of ['', 'handled', '__proto__', 'constructor'])
      assert.equal(await a.bus.send(b.node, `x${kind}`, {}), false);
    assert.equal(await a.bus.send(b.node, 'kind', {}), true);
    removed();
    b.bus.on('kind', () => false);
    assert.equal(await a.bus.send(b.node, 'kind', {}), false);
  });

  define('each listener gets the message, and one that has taken it is enough', async ([a, b]) => {
    const got: number[] = [];
    for (const n of [1, 2, 3])
      b.bus.on('kind', () => {
        got.push(n);
        return n === 2;
      });
    assert.equal(await a.bus.send(b.node, 'kind', {}), true);
    assert.deepEqual(got, [1, 2, 3]);
  });

  define('all other nodes get a message to all', async ([a, b, c]) => {
    const [atA, atB, atC] = [a, b, c].map((node) => received(node)) as [JsonObject[], JsonObject[], JsonObject[]];
    await b.bus.sendToAll('kind', { n: 1 });
    assert.deepEqual([atA, atB, atC], [[{ n: 1 }], [], [{ n: 1 }]]);
  });

  define('a node gets no message of its own', async ([a]) => {
    const atA = received(a);
    assert.equal(await a.bus.send(a.node, 'kind', {}), false);
    await a.bus.sendToAll('kind', {});
    assert.deepEqual(atA, []);
  });

  define('a node that is gone, or never was there, takes nothing', async ([a, b, c]) => {
    received(b);
    await b.end();
    assert.equal(await a.bus.send(b.node, 'kind', {}), false);
    assert.equal(await a.bus.send('nobody', 'kind', {}), false);
    const atC = received(c);
    await a.bus.sendToAll('kind', {});
    assert.equal(atC.length, 1);
  });

  define('messages that are sent at the same time each arrive once', async ([a, b, c]) => {
    const atC = received(c);
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    await Promise.all(numbers.map((n) => (n % 2 === 0 ? a : b).bus.send(c.node, 'kind', { n })));
    assert.deepEqual(
      atC.map(({ n }) => Number(n)).toSorted((one, other) => one - other),
      numbers,
    );
  });

  define('nodes may send to each other while they handle messages', async ([a, b]) => {
    const answers: Promise<boolean>[] = [];
    a.bus.on('answer', () => true);
    b.bus.on('question', () => {
      answers.push(b.bus.send(a.node, 'answer', {}));
      return true;
    });
    assert.equal(await a.bus.send(b.node, 'question', {}), true);
    assert.deepEqual(await Promise.all(answers), [true]);
  });

  return cases;
}

/** What a node gets. */
function received({ bus }: BusNode): JsonObject[] {
  const bodies: JsonObject[] = [];
  bus.on('kind', (body) => {
    bodies.push(body);
    return true;
  });
  return bodies;
}
