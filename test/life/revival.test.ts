import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOurs } from 'everwire/client';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { eventually, programs } from '../support/process.ts';
import { at, World, type Address } from './world.ts';

/**
 * With a state key, a session is not bound to its process. A client that knows nothing of it goes on after a restart, with
 * the same session, whether the process ended well or was killed.
 */

const KEY = ['--state-key', 'a-secret-of-enough-bytes'];
const FEATURES = [...programs.features, ...KEY];
const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
const CHANGED = 'notifications/tools/list_changed';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

async function started(args: readonly string[]): Promise<Address> {
  const address = await world.address();
  await address.serve(args);
  return address;
}

/** How often a client opened a session. */
function counted(): { fetch: typeof fetch; opened: () => number } {
  let opened = 0;
  const counting: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if ((await request.clone().text()).includes('"initialize"')) opened += 1;
    return fetch(request);
  };
  return { fetch: counting, opened: () => opened };
}

describe.each(['stop', 'kill'] as const)('after a process was ended by "%s"', (how) => {
  test.each(OFFICIAL)('the official client goes on in its session (%s)', async (kind) => {
    const address = await started(FEATURES);
    const { fetch, opened } = counted();
    // By itself, it tries only for 2.5 s. The new process may start more slowly.
    const client = await connectOfficial(kind, 'http', { ...at(address), fetch, attempts: 60 });
    onTestFinished(() => client.close().catch(() => {}));
    for (let restarts = 0; restarts < 2; restarts += 1) {
      expect(await client.callTool({ name: 'echo', arguments: { text: 'here' } })).toMatchObject({
        content: [{ type: 'text', text: 'here' }],
      });
      await address[how]();
      await address.serve(FEATURES);
    }
    expect((await client.methods.listTools())['tools'].length).toBeGreaterThan(0);
    const changes = () => client.notices.filter(({ method }) => method === CHANGED).length;
    await eventually(() => changes() > 0, 'the client is told that the list may have changed');
    expect(opened()).toBe(1);
  });

  test('our client goes on in its session, and can be asked again', async () => {
    const address = await started(FEATURES);
    const { fetch, opened } = counted();
    const onelicit = () => ({ action: 'accept' as const, content: { name: 'Ada' } });
    const client = await connectOurs(address.url, { eras: 'legacy', fetch, onelicit, onerror: () => {} });
    onTestFinished(() => client.close().catch(() => {}));
    const before = await client.callTool('ask', {});
    await address[how]();
    await address.serve(FEATURES);
    expect(await client.callTool('ask', {})).toEqual(before);
    expect(opened()).toBe(1);
  });
});

test('everwire demo goes on with sessions of its former process', async () => {
  const demo = [...programs.everwire, 'demo', '--port', '0', ...KEY];
  const address = await started(demo);
  const client = await connectOfficial('sdk 1.x', 'http', at(address));
  onTestFinished(() => client.close().catch(() => {}));
  await address.kill();
  await address.serve(demo);
  expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
    structuredContent: { result: 3 },
  });
});

test('without a key, the session has ended, and the client is told', async () => {
  const address = await started([...programs.features]);
  const client = await connectOfficial('sdk 1.x', 'http', at(address));
  onTestFinished(() => client.close().catch(() => {}));
  await address.kill();
  await address.serve([...programs.features]);
  await expect(client.callTool({ name: 'echo', arguments: { text: 'here' } })).rejects.toThrow('Session not found');
});
