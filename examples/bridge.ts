import { createBridge } from 'everwire/bridge';
import { listen } from 'everwire/http';

/** Serves the server at an address, whatever it speaks, to clients of every revision. */
export async function bridgeTo(target: string, port = 8000) {
  const bridge = createBridge({ target, onerror: (error) => console.error(error.message) });
  // A server that is not there should be known before the first client comes.
  await bridge.check();

  // The server protects the state that it gives its callers to carry, so the bridge does not seal it again.
  const listener = await listen({ service: bridge.service, sealState: false, port });

  return {
    url: listener.url,
    async close() {
      await listener.close();
      await bridge.close();
    },
  };
}
