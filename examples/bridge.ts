import { createBridge } from 'everwire/bridge';
import { listen } from 'everwire/http';
import { createInbound } from 'everwire';

/** Serves the server at an address, whatever it speaks, to clients of every revision. */
export async function bridgeTo(target: string, port = 8000) {
  const bridge = createBridge({ target, onerror: (error) => console.error(error.message) });
  // A server that is not there should be known before the first client comes.
  await bridge.check();

  const { service } = bridge;
  // What a server of 2026-07-28 gives its callers to carry goes to and fro as it is.
  const inbound = createInbound(service, { sealState: false });
  const listener = await listen({ port, onsession: inbound.onsession, onrequest: inbound.onrequest });

  return {
    url: listener.url,
    async close() {
      await inbound.close();
      await listener.close();
      await bridge.close();
    },
  };
}
