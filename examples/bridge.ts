import { createBridge } from 'everwire/bridge';
import { listen } from 'everwire/http';

/** Serves the server at a URL, of any revision, to clients of every revision. */
export async function bridgeTo(target: string, port = 8000) {
  const bridge = createBridge({ target, onerror: (error) => console.error(error.message) });
  // Fail now, not with the first client, if the server cannot be reached.
  await bridge.check();

  const listener = await listen({ service: bridge.service, port });

  return {
    url: listener.url,
    async close() {
      await listener.close();
      await bridge.close();
    },
  };
}
