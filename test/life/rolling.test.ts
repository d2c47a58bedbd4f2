import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, type RunningServer } from '../support/process.ts';
import { connect, isModern, KINDS } from './clients.ts';
import { at, bridgeTo, World } from './world.ts';

/** A bridge that shuts down, as in a rolling deployment, finishes the requests in flight and accepts no others. */

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

/** Sends a bridge the signal to end. Resolves when its health page says that it is shutting down. */
async function draining({ child, url }: RunningServer): Promise<void> {
  child.kill('SIGTERM');
  await eventually(async () => (await fetch(new URL('/readyz', url))).status === 503, 'the bridge is not ready');
}

test.each(KINDS)('calls in flight are answered, and new ones are refused with the reason (%s)', async (kind) => {
  const bridge = await world.serve(bridgeTo(world.stateful, '--port', '0'));
  const client = await connect(kind, 'http', at(bridge));
  const gate = world.gate();
  const calls = [client.begin('count', { gate: gate.name }), client.begin('count', { gate: gate.name })];
  await Promise.all(calls.map(({ begun }) => begun));
  await draining(bridge);
  await expect(client.call('count')).rejects.toThrow('The server is shutting down');
  await expect(connect(kind, 'http', at(bridge), 'late')).rejects.toThrow(/shutting down|HTTP 503/);
  gate.open();
  for (const { text } of calls) expect(JSON.parse(await text)).toMatchObject({ calls: expect.any(Number) });
  expect(await bridge.exited).toEqual({ code: 0, signal: null });
  expect(world.alive).toEqual([]);
});

test.each(KINDS.filter((kind) => !isModern(kind)))(
  'a user in a session can still answer, or else the call ends with the reason (%s)',
  async (kind) => {
    const bridge = await world.serve(bridgeTo(world.stateful, '--port', '0', '--drain-timeout', '3'));
    const client = await connect(kind, 'http', at(bridge));
    const answered = client.begin('greet', { who: 'Ada' });
    const waiting = client.begin('greet', { who: 'Grace' });
    const [form] = await Promise.all([client.asked('Who is Ada?'), client.asked('Who is Grace?')]);
    await draining(bridge);
    form.answer('the countess');
    expect(await answered.text).toBe('Ada is the countess');
    await expect(waiting.text).rejects.toThrow('The server is shutting down');
    expect(await bridge.exited).toEqual({ code: 0, signal: null });
  },
);

test.each(KINDS.filter(isModern))(
  'a question to a caller without a session does not delay the end (%s)',
  async (kind) => {
    const bridge = await world.serve(bridgeTo(world.stateful, '--port', '0', '--drain-timeout', '60'));
    const client = await connect(kind, 'http', at(bridge));
    const greeting = client.begin('greet', { who: 'Ada' });
    const form = await client.asked('Who is Ada?');
    bridge.child.kill('SIGTERM');
    expect(await bridge.exited).toEqual({ code: 0, signal: null });
    form.answer('Ada');
    await expect(greeting.text).rejects.toThrow(/cannot be reached|fetch failed/);
  },
);
