import {
  ConfigError,
  createBridge,
  createFleet,
  openFleet,
  parseConfig,
  readConfig,
  type Bridge,
  type BridgeOptions,
  type ConfigVariables,
  type Fleet,
  type FleetConfig,
} from 'everwire/bridge';
import { listen, type HttpListener } from 'everwire/http';
import { server } from './server.js';

const options: BridgeOptions = { target: server, connections: 'shared', onerror: undefined, idleTimeout: undefined };
const bridge: Bridge = createBridge(options);
const fleet: Fleet = createFleet({
  members: [
    { name: 'library', service: server.service },
    { name: 'bridged', service: bridge.service, tools: { hide: ['delete_*'] } },
  ],
});

export async function run(stateKey: string | undefined): Promise<HttpListener[]> {
  await bridge.check();
  return Promise.all([
    listen({ service: bridge.service, stateKey, safeToRerun: 'by-annotations', port: 0 }),
    listen({ service: fleet.service, port: 0 }),
  ]);
}

export async function fromFile(file: string, variables: ConfigVariables): Promise<number> {
  try {
    const config: FleetConfig = readConfig(file, variables);
    const opened = await openFleet(config, { connect: () => createBridge(options), variables });
    await opened.close();
    return config.servers.length + parseConfig('{"mcpServers":{}}', file).servers.length;
  } catch (error) {
    if (error instanceof ConfigError) return 0;
    throw error;
  }
}
