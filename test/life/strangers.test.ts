import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Target } from '../interop/clients.ts';
import { connect, type Kind, type LifeClient } from './clients.ts';
import { at, bridgeTo, World } from './world.ts';

/**
 * Clients without a credential of a bridge that lets anyone in beyond loopback. Those that run the same program cannot be
 * told apart, so they share a connection, and each call there may be that of another client.
 */

vi.setConfig({ testTimeout: 60_000 });

const KINDS: readonly Kind[] = ['ours, 2026-07-28', 'official 2.x, 2026-07-28'];

describe.each(KINDS)('two strangers, %s', (kind) => {
  let world: World;
  let url: Target;
  let ada: LifeClient;
  let grace: LifeClient;

  beforeEach(async () => {
    world = new World();
    const open = ['--host', '0.0.0.0', '--port', '0', '--allow-unauthenticated'];
    url = at(await world.serve(bridgeTo(world.stateful, ...open)));
    [ada, grace] = await Promise.all([connect(kind, 'http', url, 'stranger'), connect(kind, 'http', url, 'stranger')]);
    // It is known of this tool that it does not ask.
    await ada.call('recall');
  });
  afterEach(() => world.end());

  test('share a connection: a question is held until one client alone has calls there', async () => {
    const [counting, asking] = [world.gate(), world.gate()];
    const counted = grace.begin('count', { gate: counting.name });
    await counted.begun;
    // It begins when the call before it has taken long, for nobody knows yet which of them asks.
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

  test('get an error that says what to do where nobody knows who is asked, and can call again', async () => {
    const clients = { ada, grace };
    const gates = [world.gate(), world.gate()];
    const greetings = [];
    for (const [index, [who, client]] of Object.entries(clients).entries()) {
      const greeting = client.begin('greet', { who, gate: gates[index]!.name });
      await greeting.begun;
      greetings.push(greeting.text);
    }
    for (const gate of gates) gate.open();
    for (const text of await Promise.all(greetings)) {
      expect(text).toContain('Several clients share this connection, and nothing says which of them asked.');
      expect(text).toContain(
        'Call again, or give each client a connection of its own (--per-session, and a credential)',
      );
    }
    expect([ada.forms, grace.forms]).toEqual([[], []]);
    for (const [who, client] of Object.entries(clients)) {
      const greeting = client.call('greet', { who });
      (await client.asked(`Who is ${who}?`)).answer(`the answer of ${who}`);
      expect(await greeting).toBe(`${who} is the answer of ${who}`);
    }
  });
});
