import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../interop/clients.ts';
import { connect, isModern, KINDS, type Kind, type Way } from './clients.ts';
import { at, bridgeTo, over, World } from './world.ts';

/**
 * If several calls of one client are in flight, a question belongs to that client, whichever call asked it. The question
 * stays open until it is answered, even if newer calls end first.
 */

const ROUNDS = 10;

interface Place {
  readonly name: string;
  readonly transport: Way;
  readonly kinds: readonly Kind[];
  readonly target: (world: World) => Target | Promise<Target>;
  /** Whether a call of a tool that asks begins when the one before it has ended, or waits for an answer. */
  readonly takesTurns?: boolean;
}

const throughHttp = async (world: World, ...options: string[]): Promise<Target> =>
  at(await world.serve(bridgeTo(world.stateful, '--port', '0', ...options)));

const PLACES: readonly Place[] = [
  {
    name: 'before a server of the official SDK 1.x',
    transport: 'stdio',
    kinds: ['official 1.x', 'official 2.x, handshake', 'ours, handshake'],
    target: (world) => over(world.stateful),
  },
  {
    name: 'before a bridge over stdio',
    transport: 'stdio',
    kinds: KINDS,
    target: (world) => over(bridgeTo(world.stateful, '--stdio')),
  },
  { name: 'before a bridge over HTTP', transport: 'http', kinds: KINDS, target: (world) => throughHttp(world) },
  {
    name: 'alone before a shared bridge',
    transport: 'http',
    kinds: KINDS,
    target: (world) => throughHttp(world, '--shared'),
    takesTurns: true,
  },
];

describe.each(PLACES)('$name', ({ transport, kinds, target, takesTurns }) => {
  let world: World;
  let place: Target;

  beforeAll(async () => {
    world = new World();
    place = await target(world);
  });
  afterAll(() => world.end());

  test.each(kinds)('a question stays open if newer calls are answered first (%s)', async (kind) => {
    const client = await connect(kind, transport, place);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const [asking, counting] = [world.gate(), world.gate()];
      const older = client.begin('greet', { who: `guest ${round}`, gate: asking.name });
      await older.begun;
      const newer = client.begin('count', { gate: counting.name });
      await newer.begun;
      asking.open();
      const form = await client.asked(`Who is guest ${round}?`);
      counting.open();
      await Promise.all([client.call('count'), client.call('recall')]);
      // In 2026-07-28, a question is the result of one of the calls, and this may be that call.
      if (!isModern(kind)) await newer.text;
      form.answer(`Ada ${round}`);
      expect(await older.text).toBe(`guest ${round} is Ada ${round}`);
      await newer.text;
    }
    expect(client.forms).toHaveLength(ROUNDS);
  });

  // In 2026-07-28, a question is the result of one of the calls, and ends if that call is cancelled.
  test.each(kinds.filter((kind) => !isModern(kind)))(
    'a question stays open if newer calls are cancelled (%s)',
    async (kind) => {
      const client = await connect(kind, transport, place);
      const [asking, never] = [world.gate(), world.gate()];
      const older = client.begin('greet', { who: 'Ada', gate: asking.name });
      await older.begun;
      const giveUp = new AbortController();
      const newer = client.begin('count', { gate: never.name }, giveUp.signal);
      await newer.begun;
      asking.open();
      const form = await client.asked('Who is Ada?');
      giveUp.abort(new Error('enough'));
      await expect(newer.text).rejects.toThrow('enough');
      await client.call('count');
      form.answer('the countess');
      expect(await older.text).toBe('Ada is the countess');
      never.open();
    },
  );

  test.each(kinds)('several questions at once are answered in any order (%s)', async (kind) => {
    const client = await connect(kind, transport, place);
    const gate = world.gate();
    const guests = ['first', 'second', 'third'];
    const calls = guests.map((who) => client.begin('greet', { who, gate: gate.name }));
    await Promise.all(calls.slice(0, takesTurns ? 1 : undefined).map(({ begun }) => begun));
    gate.open();
    const forms = guests.toReversed().map((who) => client.asked(`Who is ${who}?`));
    // In 2026-07-28, the retry with one answer returns the next question.
    if (!isModern(kind)) await Promise.all(forms);
    await Promise.all(forms.map(async (form) => (await form).answer(`answer to ${(await form).message}`)));
    expect(await Promise.all(calls.map(({ text }) => text))).toEqual(
      guests.map((who) => `${who} is answer to Who is ${who}?`),
    );
  });
});
