import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../interop/clients.ts';
import { connect, type Kind, type LifeClient } from './clients.ts';
import { at, bridgeTo, World } from './world.ts';

/**
 * Several clients share a connection to a server that does not say which call asks. A question waits until only one client
 * has calls that could have asked it. Calls of tools that never ask do not wait.
 */

const ROUNDS = 10;
/** A question must arrive within this many milliseconds, even if the server never answers another client's cancelled call. */
const SHORT = 5000;

const PAIRS: readonly [Kind, Kind][] = [
  ['official 1.x', 'official 2.x, 2026-07-28'],
  ['official 2.x, 2026-07-28', 'ours, handshake'],
  ['ours, 2026-07-28', 'official 1.x'],
];

let pairs = 0;

describe.each(PAIRS)('%s beside %s', (first, second) => {
  let world: World;
  let url: Target;

  beforeAll(async () => {
    world = new World();
    url = at(await world.serve(bridgeTo(world.stateful, '--port', '0', '--shared')));
  });
  afterAll(() => world.end());

  async function both(): Promise<[LifeClient, LifeClient]> {
    pairs += 1;
    const [ada, grace] = await Promise.all([
      connect(first, 'http', url, `ada ${pairs}`),
      connect(second, 'http', url, `grace ${pairs}`),
    ]);
    // These tools are known not to ask.
    await Promise.all([ada.call('count'), grace.call('count')]);
    await Promise.all([ada.call('recall'), grace.call('recall')]);
    return [ada, grace];
  }

  test('a client gets results while another client answers a question', async () => {
    const [ada, grace] = await both();
    for (let round = 1; round <= ROUNDS; round += 1) {
      const greeting = ada.call('greet', { who: `ada ${round}` });
      const form = await ada.asked(`Who is ada ${round}?`);
      await Promise.all([grace.call('count'), grace.call('recall'), ada.call('count')]);
      form.answer('Ada');
      expect(await greeting).toBe(`ada ${round} is Ada`);
    }
    expect(grace.forms).toEqual([]);
  });

  test('a question that waits for another client delays no call of a tool that never asks', async () => {
    const [ada, grace] = await both();
    const [asking, counting] = [world.gate(), world.gate()];
    const counted = grace.begin('count', { gate: counting.name });
    const greeting = ada.begin('greet', { who: 'ada', gate: asking.name });
    await Promise.all([counted.begun, greeting.begun]);
    asking.open();
    for (let call = 0; call < ROUNDS; call += 1) await Promise.all([grace.call('count'), ada.call('recall')]);
    counting.open();
    await counted.text;
    (await ada.asked('Who is ada?')).answer('Ada');
    expect(await greeting.text).toBe('ada is Ada');
    expect(grace.forms).toEqual([]);
  });

  test('questions reach the client whose call asks, or nobody', async () => {
    const [ada, grace] = await both();
    for (let round = 1; round <= ROUNDS; round += 1) {
      const greet = async (client: LifeClient, who: string): Promise<void> => {
        const answering = client.asked(`Who is ${who}?`).then((form) => form.answer(`the answer of ${who}`));
        answering.catch(() => {});
        const greeting = `${who} is the answer of ${who}`;
        const text = await client.call('greet', { who }).catch(() => greeting);
        expect(text).toBe(greeting);
      };
      await Promise.all([greet(ada, `ada ${round}`), greet(grace, `grace ${round}`)]);
    }
    for (const { message } of ada.forms) expect(message).toMatch(/^Who is ada/);
    for (const { message } of grace.forms) expect(message).toMatch(/^Who is grace/);
  });

  test('a cancelled call that is never answered does not delay a question for long', async () => {
    const [ada, grace] = await both();
    const giveUp = new AbortController();
    const given = grace.begin('never', {}, giveUp.signal);
    await given.begun;
    giveUp.abort(new Error('enough'));
    await expect(given.text).rejects.toThrow('enough');
    const from = performance.now();
    const greeting = ada.call('greet', { who: 'ada' });
    (await ada.asked('Who is ada?')).answer('Ada');
    expect(await greeting).toBe('ada is Ada');
    expect(performance.now() - from).toBeLessThan(SHORT);
    expect(grace.forms).toEqual([]);
  });
});
