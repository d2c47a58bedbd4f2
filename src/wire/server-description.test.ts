import { expect, test } from 'vitest';
import { settled } from '../../test/support/service.ts';
import { Peer } from '../../test/support/wire.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { connectLegacy } from './legacy/outbound/outbound.ts';
import { connectModern } from './modern/outbound/outbound.ts';
import { TransportCarrier } from './modern/outbound/transport-carrier.ts';

const clientInfo = { name: 'us', version: '1' };
const serverInfo = { name: 'them', version: '1' };
const instructions = 'x'.repeat(1024 * 1024);
const tooLarge =
  'The server says too much about itself: its capabilities and instructions need more than 1048576 bytes';

test.each(['2025-11-25', '2026-07-28'])(
  'a server that describes itself at length is not used: %s',
  async (revision) => {
    const [near, far] = memoryTransportPair();
    const server = new Peer(far);
    await far.start();
    const legacy = revision === '2025-11-25';
    const carrier = new TransportCarrier(near, { onerror: () => {} });
    if (!legacy) await carrier.start();
    const connecting = legacy
      ? connectLegacy(near, { clientInfo, onerror: () => {} })
      : connectModern(carrier, { clientInfo, onerror: () => {} });
    await settled();
    const result = legacy
      ? { protocolVersion: revision, capabilities: {}, serverInfo, instructions }
      : { resultType: 'complete', supportedVersions: [revision], capabilities: {}, instructions };
    await server.send({ id: server.next().id, result });
    await expect(connecting).rejects.toThrow(tooLarge);
  },
);
