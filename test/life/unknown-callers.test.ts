import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Target } from '../interop/clients.ts';
import { connect, type Kind, type LifeClient } from './clients.ts';
import { at, bridgeTo, World } from './world.ts';

/**
 * Clients without credentials of a bridge that accepts anyone beyond loopback. Clients of the same program cannot be
 * distinguished, so they share a connection, and each call may come from another client.
 */

const KINDS: readonly Kind[] = ['ours, 2026-07-28', 'official 2.x, 2026-07-28'];

describe.each(KINDS)('two unknown callers, %s', (kind) => {
  let world: World;
  let url: Target;
  let ada: LifeClient;
  let grace: LifeClient;

  beforeEach(async () => {
    world = new World();
    const open = ['--host', '0.0.0.0', '--port', '0', '--allow-unauthenticated'];
    url = at(await world.serve(bridgeTo(world.stateful, ...open)));
    [ada, grace] = await Promise.all([connect(kind, 'http', url, 'stranger'), connect(kind, 'http', url, 'stranger')]);
    // This tool is known not to ask.
    await ada.call('recall');
  });
  afterEach(() => world.end());

  test('share a connection: a question waits until only one client has calls there', async () => {
    const [counting, asking] = [world.gate(), world.gate()];
    const counted = grace.begin('count', { gate: counting.name });
    await counted.begun;
    // It starts after the earlier call has taken long, because nobody knows yet which of them asks.
    const greeting = ada.begin('greet', { who: 'ada', gate: asking.name });
    await greeting.begun;
    asking.open();
    for (let call = 0; call < 10; call += 1) await grace.call('recall');
    expect([ada.forms, grace.forms]).toEqual([[], []]);
    counting.open();
    expect(JSON.parse(await counted.text)).toMatchObject({ pid: world.alive[0] });
    (await ada.asked('Who is ada?')).answer('Ada');
    expect(await greeting.text).toBe('ada is Ada');
    expect(grace.forms).toEqual([]);
    expect(world.alive).toHaveLength(1);
  });

  test('get an error that says what to do if the caller cannot be determined, and can call again', async () => {
    const clients = { ada, grace };
    const gates = [world.gate(), world.gate()];
    // Ada still has a call there after one of her calls got an error, so the question to Grace gets one, too.
    const counting = world.gate();
    const counted = ada.begin('count', { gate: counting.name });
    await counted.begun;
    const greetings = [];
    for (const [index, [who, client]] of Object.entries(clients).entries()) {
      const greeting = client.begin('greet', { who, gate: gates[index]!.name });
      await greeting.begun;
      greetings.push(greeting.text);
    }
    for (const gate of gates) gate.open();
    for (const text of await Promise.all(greetings)) {
      expect(text).toContain(
        'Several clients share this connection, and it is unknown which of their calls asked a question.',
      );
      expect(text).toContain(
        'Call again, or give each client its own connection (--per-session, with a credential for each client)',
      );
    }
    expect([ada.forms, grace.forms]).toEqual([[], []]);
    counting.open();
    await counted.text;
    for (const [who, client] of Object.entries(clients)) {
      const greeting = client.call('greet', { who });
      (await client.asked(`Who is ${who}?`)).answer(`the answer of ${who}`);
      expect(await greeting).toBe(`${who} is the answer of ${who}`);
    }
  });
});
