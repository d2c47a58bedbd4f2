import { createServer, type AddressInfo, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const RELAY = fileURLToPath(new URL('../../fixtures/relay.mjs', import.meta.url));

/** Programs on stdio that are connected to this process. */
export interface Relayed {
  /** The `node` arguments that start such a program. */
  readonly args: readonly string[];
  readonly stop: () => Promise<void>;
}

/** @param onstart gets this process's end of each started program. */
export async function relayed(onstart: (end: Socket) => void): Promise<Relayed> {
  const ends = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (end) => {
    ends.add(end);
    end.on('close', () => ends.delete(end));
    // The connection of a killed program is reset.
    end.on('error', () => {});
    onstart(end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    for (const end of ends) end.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { args: [RELAY, String(port)], stop };
}
