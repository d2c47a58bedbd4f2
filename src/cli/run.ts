import { idlePause } from '../base/wait.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import type { StdioFaults } from '../inspector/stdio-faults.ts';
import { unrepeated } from '../operate/repetition.ts';
import type { HttpListener, ListenOptions } from '../transport/http/server/listen.ts';
import type { StdioServerOptions } from '../transport/stdio/server.ts';
import type { Transport } from '../transport/transport.ts';
import { closeDescriptor } from './close-descriptor.ts';
import { announces, thisWorker } from './cluster/this-worker.ts';
import { wantsWorkers } from './cluster/usage.ts';
import { listenOptions, type ServeFlags } from './options.ts';
import { openStore } from './open-store.ts';
import { isReaderGone } from './reader-gone.ts';
import { printStatus } from './print-status.ts';
import { readStateKey, readStore } from './read-secret.ts';
import { observe, type Observation } from './recording.ts';
import { atEnd, stop } from './shutdown.ts';

/** What can be served over both stdio and HTTP, such as an `McpServer`. */
export interface Servable {
  connect(transport: Transport): Promise<void>;
  listen(options: Omit<ListenOptions, 'onsession' | 'onrequest'>): Promise<HttpListener>;
}

/** How long a listener lets requests run when it closes, in milliseconds. */
const DRAIN_TIMEOUT = 5000;

/**
 * Serves with the given flags, until the process gets a signal or, over stdio, the client disconnects.
 *
 * @param name the server's name in the client configuration.
 * @param inspection the page of the inspector, if the user wants one, and its breakpoints.
 * @param named resolves with the name that the server gives itself, if that is known only later.
 */
export async function run(
  name: string,
  served: Servable,
  flags: ServeFlags,
  inspection: Pick<Observation, 'page' | 'breakpoints'> = {},
  named?: Promise<string>,
): Promise<void> {
  if (!thisWorker && wantsWorkers(flags)) {
    const { startWorkers } = await import('./cluster/workers.ts');
    const { host, port } = flags;
    return startWorkers({
      ...{ count: flags.workers!, host, port, stateKey: readStateKey(flags.stateKey) },
      ...{ drainTimeout: DRAIN_TIMEOUT, onwarning: unrepeated(printStatus) },
    });
  }
  const onpage = ({ href }: URL): void => printStatus(`inspector on ${href}`);
  const wiretap = await observe({ target: name, file: flags.record, ...inspection, onpage });
  if (flags.stdio) return serveStdio(served, { wiretap }, inspection.breakpoints);
  const sessionKey = thisWorker?.stateKey ?? readStateKey(flags.stateKey);
  const state = await openStore(readStore(flags.store), { stateKey: sessionKey, onwarning: printStatus });
  const listener = await served.listen({ ...listenOptions(flags), sessionKey, state, wiretap });
  atEnd(() => listener.close());
  thisWorker?.listening();
  if (!announces) return;
  if (!named) return announce(name, listener);
  announceAddress(listener);
  void named.then((own) => announceConfiguration(configurationName(own) || name, listener.url));
}

/** How long the client over stdio may take to read what was sent, when a signal ends the process. Milliseconds. */
const UNREAD_TIMEOUT = 1000;

/**
 * Serves one client over stdin and stdout, until it disconnects. A signal does not let requests finish: hosts that send
 * one soon send SIGKILL.
 *
 * @param breakpoints whose rules disturb responses.
 */
export async function serveStdio(
  served: Pick<Servable, 'connect'>,
  options: StdioServerOptions,
  breakpoints?: Breakpoints,
): Promise<void> {
  const { stdioServerTransport } = await import('../transport/stdio/server.ts');
  const faults = breakpoints && (await stdioFaults(breakpoints, () => void transport.close()));
  const transport = stdioServerTransport(options);
  atEnd(() => Promise.race([transport.close(), idlePause(UNREAD_TIMEOUT)]));
  await served.connect(transport);
  faults?.listen(transport);
  const { onclose: closed, onerror: report } = transport;
  transport.onerror = (error) => {
    // The signal ends the server. It is not an error.
    if (!isReaderGone(error)) report?.(error);
  };
  transport.onclose = () => {
    closed?.();
    void stop();
  };
}

/** @param close ends the connection of the client. */
async function stdioFaults(breakpoints: Breakpoints, close: () => void): Promise<StdioFaults> {
  const { StdioFaults: Faults } = await import('../inspector/stdio-faults.ts');
  return new Faults(breakpoints, process.stdout, () => {
    closeDescriptor(1);
    close();
  });
}

/**
 * Tells the user the server's URL, and how to configure a client for it.
 *
 * @param members whether each server behind it has its own path.
 * @param headers that clients must send.
 */
export function announce(
  name: string,
  listener: HttpListener,
  members = false,
  headers?: Readonly<Record<string, string>>,
): void {
  const { url } = listener;
  announceAddress(listener);
  if (members) printStatus(`each server separately on ${url.replace(/(?<=\/\/[^/]+)(?=\/)/, '/servers/<name>')}`);
  announceConfiguration(name, url, headers);
}

function announceAddress({ host, port, url, sseUrl }: HttpListener): void {
  printStatus(`listening on ${url}`);
  if (host === '0.0.0.0' || host === '::')
    printStatus(`other machines reach it at each address of this machine, on port ${port}`);
  if (sseUrl) printStatus(`HTTP+SSE, for clients of 2024-11-05, on ${sseUrl}`);
}

function announceConfiguration(name: string, url: string, headers?: Readonly<Record<string, string>>): void {
  printStatus('client configuration:');
  process.stderr.write(`${JSON.stringify({ mcpServers: { [name]: { type: 'http', url, headers } } }, null, 2)}\n`);
}

/** The longest name in a client configuration, in characters. */
const MAX_NAME = 64;

/** A name that every host accepts, from the name that a server gives itself. Empty if there is none. */
export function configurationName(given: string | undefined): string {
  return given?.replaceAll(/[^\w.-]+/g, '-').slice(0, MAX_NAME) ?? '';
}
