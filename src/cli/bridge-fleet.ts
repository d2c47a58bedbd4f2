import { readConfig, type ServerConfig } from '../bridge/config/config.ts';
import { openFleet, type ServerConnection } from '../bridge/fleet/open-fleet.ts';
import type { CleanLog } from '../operate/logs.ts';
import { createObserver } from './bridge-observer.ts';
import { serveBridge, type ServedMembers } from './bridge-serve.ts';
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
  const connect = async (name: string, server: ServerConfig): Promise<ServerConnection> => {
    const bridge = await bridgeTo(server, name, true, settings, log);
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
        log.hide(name, []);
      }
      clearMounts();
      const names = { added: added.join(), removed: removed.join(), changed: changed.join() };
      log.write('info', `${file} was reloaded`, names);
    },
  });
  atEnd(() => fleet.close());
  const members: ServedMembers = {
    find: (name) => fleet.services.get(name),
    onchange: (clear) => {
      clearMounts = clear;
    },
  };
  return serveBridge({ name: 'everwire', service: fleet.service, members }, observer, settings, log);
}
