import assert from 'node:assert/strict';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { AnswerLost, NotTaken, type Bus, type NodeId } from '../../store/bus.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** One process of several that use a bus. They may all be in this process. */
export interface BusNode {
  readonly node: NodeId;
  readonly bus: Bus;
  /** Ends the node. Resolves when the others can know that it has ended. */
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

  define('a call gets the answer of the process that it names', async ([a, b, c]) => {
    const answered: [string, JsonObject][] = [];
    for (const { node, bus } of [a, b, c])
      bus.answer('kind', async (body, { from }) => {
        answered.push([`${from} to ${node}`, body]);
        return { got: body, by: node };
      });
    const body = { text: 'line\nbreak \u2028 ünï 😀', deep: [{ null: null }, [], 1.5, true] };
    assert.deepEqual(await a.bus.call(b.node, 'kind', body), { got: body, by: b.node });
    assert.deepEqual(answered, [[`${a.node} to ${b.node}`, body]]);
  });

  define('calls in both directions at the same time get their own answers', async ([a, b]) => {
    for (const { bus, node } of [a, b]) bus.answer('kind', async ({ n }) => ({ n: Number(n), by: node }));
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    const answers = numbers.flatMap((n) => [a.bus.call(b.node, 'kind', { n }), b.bus.call(a.node, 'kind', { n })]);
    const expected = numbers.flatMap((n) => [
      { n, by: b.node },
      { n, by: a.node },
    ]);
    assert.deepEqual(await Promise.all(answers), expected);
  });

  define('a large answer arrives', async ([a, b]) => {
    const text = 'ü'.repeat(2 * 1024 * 1024);
    b.bus.answer('kind', async () => ({ text }));
    assert.equal((await a.bus.call(b.node, 'kind', {}))['text'], text);
  });

  define('the caller gets the error of the handler', async ([a, b]) => {
    const failures = [
      new RpcError(-32002, 'not there', { data: { uri: 'x' }, origin: 'peer' }),
      new RpcError(-32000, 'lost'),
    ];
    b.bus.answer('kind', ({ n }) => Promise.reject(failures[Number(n)]!));
    for (const [n, { code, message, data, origin }] of failures.entries())
      await assert.rejects(a.bus.call(b.node, 'kind', { n }), { name: 'RpcError', code, message, data, origin });
    b.bus.answer('other', () => Promise.reject(new Error('oops')));
    await assert.rejects(a.bus.call(b.node, 'other', {}), { code: -32603, message: 'oops', origin: 'local' });
  });

  define('a call that certainly reached no handler says so', async ([a, b]) => {
    await assert.rejects(a.bus.call(b.node, 'kind', {}), NotTaken);
    const remove = b.bus.answer('kind', async () => ({}));
    assert.deepEqual(await a.bus.call(b.node, 'kind', {}), {});
    remove();
    await assert.rejects(a.bus.call(b.node, 'kind', {}), NotTaken);
    await assert.rejects(a.bus.call('nobody', 'kind', {}), NotTaken);
    a.bus.answer('kind', async () => ({}));
    await assert.rejects(a.bus.call(a.node, 'kind', {}), NotTaken);
    await b.end();
    await assert.rejects(a.bus.call(b.node, 'kind', {}), NotTaken);
  });

  define('a handler learns that its caller waits no longer', async ([a, b]) => {
    const abort = new AbortController();
    const cancelled = new Promise<void>((resolve) => {
      b.bus.answer('kind', (_, { signal }) => {
        signal.addEventListener('abort', () => resolve());
        abort.abort(new Error('enough'));
        return new Promise(() => {});
      });
    });
    await assert.rejects(a.bus.call(b.node, 'kind', {}, { signal: abort.signal }), { message: 'enough' });
    await cancelled;
    await assert.rejects(a.bus.call(b.node, 'kind', {}, { signal: abort.signal }), { message: 'enough' });
  });

  define('the end of either process ends a call at the other one', async ([a, b, c]) => {
    let begun = (): void => {};
    const aborted = new Promise<void>((resolve) => {
      b.bus.answer('kind', (_, { signal }) => {
        signal.addEventListener('abort', () => resolve());
        begun();
        return new Promise(() => {});
      });
    });
    const call = async (from: BusNode): Promise<{ outcome: Promise<unknown> }> => {
      const taken = new Promise<void>((resolve) => (begun = resolve));
      const outcome = from.bus.call(b.node, 'kind', {}).catch((error: unknown) => error);
      await taken;
      return { outcome };
    };
    await call(c);
    await c.end();
    await aborted;
    const { outcome } = await call(a);
    await b.end();
    assert.ok((await outcome) instanceof AnswerLost);
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
