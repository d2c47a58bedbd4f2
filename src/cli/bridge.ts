import { basename } from 'node:path';
import type { Service } from '../core/exchange.ts';
import type { ServerDescription } from '../bridge/connection.ts';
import type { CleanLog } from '../operate/logs.ts';
import { unrepeated } from '../operate/repetition.ts';
import { Method } from '../protocol/methods.ts';
import { breakpointsFor } from './breakpoints.ts';
import { createObserver } from './bridge-observer.ts';
import type { BridgeFlags } from './bridge-options.ts';
import { bridgeLog, logServer, serveBridge } from './bridge-serve.ts';
import { readSettings, type BridgeSettings } from './bridge-settings.ts';
import { bridgeTo } from './bridge-target.ts';
import { announces, thisWorker } from './cluster/this-worker.ts';
import { wantsWorkers } from './cluster/usage.ts';
import { Failure } from './failure.ts';
import { configurationName } from './run.ts';
import { openStore } from './open-store.ts';
import { printStatus } from './print-status.ts';
import { observe } from './recording.ts';
import { atEnd, isStopping, stop } from './shutdown.ts';
import { addressOf, commandTarget, isUrl, nameOf, urlTarget, type Target } from './target.ts';
import { ToolPatterns } from './tool-patterns.ts';

/** Whether options follow the URL of the server. */
export function hasMoreOptions([first = '', ...others]: readonly string[]): boolean {
  return isUrl(first) && others.some((word) => word.startsWith('-'));
}

/** `everwire bridge`: serves a local or remote server over HTTP or stdio. */
export async function bridge(words: string[], flags: BridgeFlags): Promise<void> {
  const settings = readSettings(flags);
  const isParent = !thisWorker && wantsWorkers(flags);
  const log = await bridgeLog(settings);
  const onwarning = unrepeated((line) => log.write('warn', line));
  if (isParent) {
    const { startWorkers } = await import('./cluster/workers.ts');
    const { stateKey, drainTimeout } = settings;
    const { host, port, workers: count } = flags;
    return startWorkers({ count: count!, host, port, stateKey, drainTimeout, onwarning });
  }
  // Over stdio, there is one client, whose state nobody else needs.
  if (!settings.stdio) settings.state = await openStore(settings.store, { stateKey: settings.stateKey, onwarning });
  const { config } = settings;
  if (config !== undefined) {
    if (words.length > 0) throw Failure.usage(`--config already names the servers: remove ${JSON.stringify(words[0])}`);
    settings.breakpoints = await breakpointsFor(flags, true);
    settings.wiretap = await observed(basename(config), settings, flags, log);
    return (await import('./bridge-fleet.ts')).bridgeFleet(config, settings, log);
  }
  const target = targetIn(words, settings);
  const name = nameOf(target);
  settings.breakpoints = await breakpointsFor(flags, target.kind === 'command');
  settings.wiretap = await observed(name, settings, flags, log);
  const { bridge: bridged, inTime } = await bridgeTo(target, name, false, settings, log);
  atEnd(() => bridged.close());
  const observer = await createObserver(settings, log);
  const patterns = new ToolPatterns([name], settings, log);
  const service = observer.server(name, bridged, patterns.select(name, {}));
  const drain = (timeout: number): Promise<void> => bridged.drain(timeout);
  const problem = (error: Error): string => `${knownAs(target, name)} did not start as an MCP server: ${error.message}`;
  if (settings.stdio) {
    const first: Service = (exchange) =>
      exchange.method === Method.Discover ? inTime(service(exchange)) : service(exchange);
    return serveBridge({ name, drain, service: stoppingWith(first, problem, log) }, observer, settings, log);
  }
  let description: ServerDescription;
  try {
    // Report a broken server before the first client connects.
    description = await inTime(bridged.describe());
  } catch (error) {
    throw new Error(problem(error as Error), { cause: error });
  }
  const shown = configurationName(description.name) || name;
  await serveBridge({ name: shown, drain, service }, observer, settings, log);
  if (!announces) return;
  logServer(log, name, description, settings.tools);
  patterns.check(name, {}, description.tools);
}

/** Records the bridge, and serves a page that shows both of its sides, if the user wants that. */
function observed(target: string, { breakpoints }: BridgeSettings, flags: BridgeFlags, log: CleanLog) {
  const { record, inspect, inspectPort: port, logFormat } = flags;
  return observe({
    ...{ target, file: record, page: inspect ? { port, portOption: '--inspect-port' } : undefined, breakpoints },
    onpage: (url) => {
      if (logFormat === 'json') log.address('warn', 'inspector on', url);
      else printStatus(`inspector on ${url.href}`);
    },
  });
}

/**
 * The server that the command line names: a URL, or a command with or without `--`.
 *
 * @throws Failure with code 2 if they name none.
 */
function targetIn([first, ...others]: string[], given: BridgeSettings): Target {
  if (first === undefined) throw Failure.usage('a server is missing: a URL, -- and a command, or --config');
  if (!isUrl(first)) return commandTarget([first, ...others], given);
  if (others.length > 0) {
    const word = JSON.stringify(others[0]);
    throw Failure.usage(
      `the bridge takes a URL or a command, and not both: remove the URL, or ${word} and what follows`,
    );
  }
  return urlTarget(first, given);
}

/** The server's name for the user: that of its command, or its URL without parameters. */
function knownAs(target: Target, name: string): string {
  return target.kind === 'command' ? name : addressOf(target);
}

/** Over stdio there is one session and one server. If the server does not start, the bridge ends. */
function stoppingWith(service: Service, problem: (error: Error) => string, log: CleanLog): Service {
  return async (exchange) => {
    try {
      return await service(exchange);
    } catch (error) {
      if (exchange.method === Method.Discover && !isStopping()) {
        log.write('error', problem(error as Error));
        process.exitCode = 1;
        // Let the client get its response first.
        setImmediate(() => void stop());
      }
      throw error;
    }
  };
}
