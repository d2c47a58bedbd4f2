import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOurs } from 'everwire/client';
import { eventually, programs } from '../support/process.ts';
import { connect, KINDS, type Kind } from './clients.ts';
import { at, bridgeTo, World, type Address } from './world.ts';

/**
 * Servers and bridges are replaced all the time. The old one gets a signal and ends its subscriptions, and a new one
 * starts at the same address. Subscriptions continue.
 */

const URI = 'feature://fixed';
const OURS: readonly Kind[] = ['ours, handshake', 'ours, 2026-07-28'];

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

const FEATURES = [...programs.features];

/** A server at an address that its successor will use too. */
async function started(args: readonly string[]): Promise<Address> {
  const address = await world.address();
  await address.serve(args);
  return address;
}

/** Stops a server as a supervisor does, and starts its successor at the same address. */
async function restart(address: Address, args: readonly string[]): Promise<void> {
  expect(await address.stop()).toEqual({ code: 0, signal: null });
  await address.serve(args);
}

/** Changes the resource until the client has been notified. */
async function changed({ url }: { url: string }, heard: () => number): Promise<void> {
  const before = heard();
  const writer = await connectOurs(url);
  try {
    await eventually(async () => {
      await writer.callTool('touch', { uri: URI });
      return heard() > before;
    }, 'the change is heard');
  } finally {
    await writer.close();
  }
}

describe('a server that restarts', () => {
  test.each(OURS)('sends notifications to our client again (%s)', async (kind) => {
    const server = await started(FEATURES);
    const client = await connect(kind, 'http', at(server));
    const heard = await client.subscribe(URI);
    await changed(server, heard);
    for (let restarts = 0; restarts < 2; restarts += 1) {
      await restart(server, FEATURES);
      await changed(server, heard);
    }
  });

  test.each(['legacy', 'modern'] as const)('still sends list changes to our client (%s)', async (eras) => {
    const server = await started(FEATURES);
    let heard = 0;
    const client = await connectOurs(server.url, { eras, onchange: () => (heard += 1), onerror: () => {} });
    onTestFinished(() => client.close());
    let grown = 0;
    const grows = async (): Promise<void> => {
      const before = heard;
      const writer = await connectOurs(server.url);
      await eventually(async () => {
        await writer.callTool('grow', { name: `grown-${(grown += 1)}` });
        return heard > before;
      }, 'the change is heard');
      await writer.close();
    };
    await grows();
    await restart(server, FEATURES);
    await grows();
  });

  test.each(KINDS)('sends notifications through a bridge again (%s)', async (kind) => {
    const server = await started(FEATURES);
    const bridge = await world.serve([...programs.everwire, 'bridge', '--port', '0', server.url]);
    const client = await connect(kind, 'http', at(bridge));
    const heard = await client.subscribe(URI);
    await changed(server, heard);
    await restart(server, FEATURES);
    await changed(server, heard);
  });

  test('ends the subscription of the official client 2.x, which then subscribes again', async () => {
    const server = await started(FEATURES);
    const client = new Client(
      { name: 'life', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    onTestFinished(() => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    let heard = 0;
    client.setNotificationHandler('notifications/resources/updated', () => void (heard += 1));
    const wanted = { resourceSubscriptions: [URI] };
    const subscription = await client.listen(wanted);
    await changed(server, () => heard);
    await restart(server, FEATURES);
    expect(await subscription.closed).toBe('graceful');
    expect((await client.listen(wanted)).honoredFilter).toEqual(wanted);
    await changed(server, () => heard);
  });

  test('refuses the session of the official client 1.x, which then connects again', async () => {
    const server = await started(FEATURES);
    const former = await connect('official 1.x', 'http', at(server));
    await changed(server, await former.subscribe(URI));
    await restart(server, FEATURES);
    await expect(former.call('echo', { text: 'x' })).rejects.toThrow(/[Ss]ession/);
    const client = await connect('official 1.x', 'http', at(server));
    await changed(server, await client.subscribe(URI));
  });
});

describe('a bridge that restarts', () => {
  test.each(OURS)('sends notifications to our client again (%s)', async (kind) => {
    const bridging = bridgeTo([...programs.features, '--stdio'], '--port', '0', '--shared');
    const bridge = await started(bridging);
    const client = await connect(kind, 'http', at(bridge));
    const heard = await client.subscribe(URI);
    await changed(bridge, heard);
    await restart(bridge, bridging);
    await changed(bridge, heard);
  });

  test.each(OURS)('sends notifications of a server with a handshake again (%s)', async (kind) => {
    const bridging = bridgeTo(world.stateful, '--port', '0');
    const bridge = await started(bridging);
    const client = await connect(kind, 'http', at(bridge));
    const heard = await client.subscribe('stateful://value');
    const changes = async (): Promise<void> => {
      const before = heard();
      await eventually(async () => {
        await client.call('remember', { value: 'x' });
        return heard() > before;
      }, 'the change is heard');
    };
    await changes();
    await restart(bridge, bridging);
    await changes();
  });
});
