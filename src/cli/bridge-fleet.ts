import { readConfig, type ServerConfig } from '../bridge/config/config.ts';
import type { Bridge } from '../bridge/bridge.ts';
import { openFleet, type ServerConnection } from '../bridge/fleet/open-fleet.ts';
import type { CleanLog } from '../operate/logs.ts';
import { createObserver } from './bridge-observer.ts';
import { logServer, serveBridge, type ServedMembers } from './bridge-serve.ts';
import type { BridgeSettings } from './bridge-settings.ts';
import { bridgeTo } from './bridge-target.ts';
import { usable } from './mcp-json.ts';
import { atEnd } from './shutdown.ts';

/**
 * `everwire bridge --config`: serves all servers of a file as one, and each separately. It follows changes of the file.
 */
export async function bridgeFleet(file: string, settings: BridgeSettings, log: CleanLog): Promise<void> {
  const onwarning = (message: string): void => log.write('warn', message);
  const config = usable('--config:', () => readConfig(file));
  const observer = await createObserver(settings, log);
  const bridges = new Map<string, Bridge>();
  let serving = false;
  const show = (name: string, bridge: Bridge): Promise<void> =>
    bridge.describe().then(
      (description) => logServer(log, name, description),
      (error: unknown) => {
        if (bridges.get(name) === bridge) onwarning(`${name} is not available: ${(error as Error).message}`);
      },
    );
  const connect = async (name: string, server: ServerConfig): Promise<ServerConnection> => {
    const bridge = await bridgeTo(server, name, true, settings, log);
    bridges.set(name, bridge);
    if (serving) void show(name, bridge);
    return { service: observer.server(name, bridge), close: () => bridge.close() };
  };
  /** Closes the sessions and streams of servers that were removed. */
  let clearMounts = (): void => {};
  const fleet = await openFleet(config, {
    connect,
    watch: true,
    onwarning,
    onchange: ({ added, removed, changed }) => {
      for (const name of removed) {
        observer.forget(name);
        bridges.delete(name);
        log.hide(name, []);
      }
      clearMounts();
      const names = { added: added.join(), removed: removed.join(), changed: changed.join() };
      log.write('info', `${file} was reloaded`, names);
    },
  });
  atEnd(() => {
    bridges.clear();
    return fleet.close();
  });
  if (config.servers.length === 0) onwarning(`${file} has no servers, or all are disabled: nothing is served`);
  const members: ServedMembers = {
    find: (name) => fleet.services.get(name),
    onchange: (clear) => {
      clearMounts = clear;
    },
  };
  await serveBridge({ name: 'everwire', service: fleet.service, members }, observer, settings, log);
  // Over stdio, the client connects at once, and its own connections show the same.
  if (settings.stdio) return;
  serving = true;
  for (const [name, bridge] of bridges) void show(name, bridge);
}
