import { readConfig, type ServerConfig } from '../bridge/config/config.ts';
import { isOutage } from '../bridge/outage.ts';
import type { ToolSelection } from '../bridge/fleet/selection.ts';
import { openFleet, type ServerConnection } from '../bridge/fleet/open-fleet.ts';
import type { CleanLog } from '../operate/logs.ts';
import { unrepeated } from '../operate/repetition.ts';
import { createObserver } from './bridge-observer.ts';
import { logServer, serveBridge, type ServedMembers } from './bridge-serve.ts';
import type { BridgeSettings } from './bridge-settings.ts';
import { bridgeTo, type BridgedServer } from './bridge-target.ts';
import { announces } from './cluster/this-worker.ts';
import { usable } from './mcp-json.ts';
import { atEnd } from './shutdown.ts';
import { ToolPatterns } from './tool-patterns.ts';

interface Shown extends BridgedServer {
  readonly tools: ToolSelection;
}

/**
 * `everwire bridge --config`: serves all servers of a file as one, and each separately. It follows changes of the file.
 */
export async function bridgeFleet(file: string, settings: BridgeSettings, log: CleanLog): Promise<void> {
  const onwarning = unrepeated((line) => log.write('warn', line));
  const config = usable('--config:', () => readConfig(file));
  const observer = await createObserver(settings, log);
  const bridges = new Map<string, Shown>();
  let serving = false;
  const patterns = new ToolPatterns(
    config.servers.map(({ name }) => name),
    settings,
    log,
  );
  const show = (name: string, { bridge, inTime, tools }: Shown): Promise<void> =>
    inTime(bridge.describe()).then(
      (description) => {
        observer.report(name, bridge, true);
        if (!announces) return;
        logServer(log, name, description, settings.tools, tools);
        patterns.check(name, tools, description.tools);
      },
      (error: unknown) => {
        observer.report(name, bridge, false);
        if (bridges.get(name)?.bridge === bridge) onwarning(`${name} is not available: ${(error as Error).message}`);
      },
    );
  const connect = async (name: string, server: ServerConfig): Promise<ServerConnection> => {
    const bridged = await bridgeTo(server, name, true, settings, log);
    const { bridge } = bridged;
    const { tools } = server;
    const shown: Shown = { ...bridged, tools };
    bridges.set(name, shown);
    if (serving) void show(name, shown);
    const service = observer.server(name, bridge, patterns.select(name, tools));
    return { service, close: () => bridge.close() };
  };
  /** Closes the sessions and streams of servers that were removed. */
  let clearMounts = (): void => {};
  const fleet = await openFleet(config, {
    connect,
    watch: true,
    onwarning: (message, cause) => {
      // The bridge of that server reports it.
      if (!isOutage(cause)) onwarning(message);
    },
    onchange: ({ added, removed, changed }) => {
      for (const name of removed) {
        observer.forget(name);
        bridges.delete(name);
        log.hide(name, []);
      }
      clearMounts();
      const list = (names: readonly string[]): string | undefined => names.join() || undefined;
      const names = { added: list(added), removed: list(removed), changed: list(changed) };
      const isSame = [added, removed, changed].every(({ length }) => length === 0);
      if (isSame) log.write('info', `${file} can be used again; the servers are unchanged`);
      else log.write('info', `${file} was reloaded`, names);
    },
  });
  atEnd(() => {
    bridges.clear();
    return fleet.close();
  });
  if (config.servers.length === 0) onwarning(`${file} has no servers, or all are disabled: nothing is served`);
  const members: ServedMembers = {
    find: (name) => fleet.services.get(name),
    names: () => [...fleet.services.keys()],
    onchange: (clear) => {
      clearMounts = clear;
    },
  };
  const drain = async (timeout: number): Promise<void> => {
    await Promise.all(Array.from(bridges.values(), ({ bridge }) => bridge.drain(timeout)));
  };
  await serveBridge({ name: 'everwire', service: fleet.service, drain, members }, observer, settings, log);
  // Over stdio, the client connects at once, and its own connections show the same.
  if (settings.stdio) return;
  serving = true;
  for (const [name, shown] of bridges) void show(name, shown);
}
