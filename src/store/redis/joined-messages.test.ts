import { expect, onTestFinished, test } from 'vitest';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { deferred } from '../../../test/support/service.ts';
import { newNodeId } from './node-id.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

/** What processes write to Redis for their messages, and what becomes of messages that go together. */

const KEY = 'a state key of these tests';
const NUMBERS = Array.from({ length: 50 }, (_, n) => n);

describeWithEmptyRedis('processes', (redis) => {
  interface Started {
    /** Called before a reply to the reader of the process is passed on. */
    readonly onread?: (command: string, reply: unknown) => unknown;
  }

  async function start({ onread = () => {} }: Started = {}) {
    const [client, reader] = [await openRedis(redis.server.url, 5000), await openRedis(redis.server.url, 5000)];
    /** The texts that this process has put into inboxes. A script that Redis does not know yet is sent twice. */
    const sent = new Set<string>();
    const sendCommand = (args: string[]): Promise<unknown> => {
      if (args[5]?.startsWith('[')) sent.add(args[5]);
      return client.sendCommand(args);
    };
    const read = async (args: string[]): Promise<unknown> => {
      const reply = await reader.sendCommand(args);
      await onread(args[0]!, reply);
      return reply;
    };
    const state = redisState({ sendCommand }, { bus: { reader: { sendCommand: read }, stateKey: KEY } });
    onTestFinished(async () => {
      await state.close();
      await Promise.all([client.close(), reader.close()]);
    });
    await expect.poll(() => redis.admin.zScore('{everwire}:nodes', state.node)).not.toBeNull();
    return { node: state.node, bus: state.bus!, sent };
  }

  test('of the messages of one turn, the first goes out at once, and the others together', async () => {
    const [a, b] = [await start(), await start()];
    const got: number[] = [];
    b.bus.on('kind', ({ n }) => {
      got.push(Number(n));
      return Number(n) % 2 === 0;
    });
    const outcomes = NUMBERS.map((n) => a.bus.send(b.node, 'kind', { n }));
    expect(a.sent.size).toBe(1);
    // Each sender learns what became of its own message.
    expect(await Promise.all(outcomes)).toEqual(NUMBERS.map((n) => n % 2 === 0));
    expect(got.toSorted((one, other) => one - other)).toEqual(NUMBERS);
    expect(a.sent.size).toBe(2);
  });

  test('a call that is answered at once is one message in each direction, and a confirmation later', async () => {
    const [a, b] = [await start(), await start()];
    b.bus.answer('kind', async (body) => body);
    expect(await a.bus.call(b.node, 'kind', { n: 1 })).toEqual({ n: 1 });
    expect([a.sent.size, b.sent.size]).toEqual([1, 1]);
    await expect.poll(() => a.sent.size).toBe(2);
    await expect.poll(() => redis.admin.keys('{everwire}:i*')).toEqual([]);
  });

  test('large messages of one turn do not go together', async () => {
    const [a, b] = [await start(), await start()];
    b.bus.on('kind', () => true);
    const text = 'x'.repeat(100_000);
    const outcomes = [{}, { n: 1 }, { text }, { n: 2 }].map((body) => a.bus.send(b.node, 'kind', body));
    expect(await Promise.all(outcomes)).toEqual([true, true, true, true]);
    expect([...a.sent].map((entry) => entry.length > text.length)).toEqual([false, false, true, false]);
  });

  test('messages that go together are withdrawn together', async () => {
    const a = await start();
    const killed = newNodeId(KEY);
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() + 60_000, value: killed });
    await redis.admin.set(`{everwire}:n:${killed}`, '1', { PX: 60_000 });
    const outcomes = NUMBERS.map((n) => a.bus.send(killed, 'kind', { n }));
    await expect.poll(() => redis.admin.xLen(`{everwire}:in:${killed}`)).toBe(2);
    await redis.admin.del(`{everwire}:n:${killed}`);
    expect(await Promise.all(outcomes)).toEqual(NUMBERS.map(() => false));
    expect(await redis.admin.keys('{everwire}:i*')).toEqual([]);
  });

  test('a confirmation arrives though the messages with it are refused', async () => {
    let frozen = false;
    const thawed = deferred();
    const a = await start({ onread: () => (frozen ? thawed.promise : undefined) });
    const b = await start();
    const refused: Promise<unknown>[] = [];
    b.bus.on('kind', () => {
      frozen = true;
      for (const n of [1, 2]) refused.push(b.bus.send(a.node, 'other', { n }).catch(String));
      return true;
    });
    await redis.admin.xAdd(`{everwire}:in:${a.node}`, '*', { m: 'x', k: 'x' });
    await expect.poll(() => redis.admin.keys('{everwire}:in:*')).toEqual([]);
    frozen = true;
    // The read that is on its way gets this one. From then on, the inbox is full.
    await redis.admin.xAdd(`{everwire}:in:${a.node}`, '*', { m: 'x', k: 'x' });
    await redis.admin.set(`{everwire}:ib:${a.node}`, String(16 * 1024 * 1024));
    const outcome = a.bus.send(b.node, 'kind', {});
    await expect.poll(() => refused.length).toBe(2);
    const full = expect.stringContaining('too many messages that it has not read');
    expect(await Promise.all(refused)).toEqual([full, full]);
    frozen = false;
    thawed.resolve();
    expect(await outcome).toBe(true);
    // The second message, and the confirmation, went together.
    expect(b.sent.size).toBe(3);
  });

  test('an answer that is read twice is taken once', async () => {
    let lost = 0;
    const onread = (command: string): void => {
      if (!command.startsWith('EVAL') || lost > 2) return;
      lost += 1;
      throw new Error('the connection is closed');
    };
    const [a, b] = [await start({ onread }), await start()];
    b.bus.answer('kind', async (body) => body);
    const answers = NUMBERS.map((n) => a.bus.call(b.node, 'kind', { n }));
    expect(await Promise.all(answers)).toEqual(NUMBERS.map((n) => ({ n })));
    expect(lost).toBe(3);
    await expect.poll(() => redis.admin.keys('{everwire}:i*')).toEqual([]);
  });
});
