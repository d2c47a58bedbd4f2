import { sendBudget } from '../base/send-budget.ts';
import type { ServerDescription } from '../bridge/connection.ts';
import { isSelected, type ToolSelection } from '../bridge/fleet/selection.ts';
import { compose, type Service } from '../core/exchange.ts';
import { cleanErrors } from '../operate/clean-errors.ts';
import { createLog, type CleanLog, type Log } from '../operate/logs.ts';
import type { Metrics } from '../operate/metrics.ts';
import { pagesAt } from '../operate/page.ts';
import { unrepeated } from '../operate/repetition.ts';
import type { TlsFiles } from '../operate/tls-files.ts';
import type { Authenticator } from '../transport/http/server/access/authenticator.ts';
import type { HttpRefusal } from '../transport/http/server/call.ts';
import type { HttpHandler, HttpPage } from '../transport/http/server/handler.ts';
import type { Inbound, InboundOptions } from '../wire/serve.ts';
import { httpFaults, interception } from './breakpoints.ts';
import { inboundTo, Mounts } from './bridge-mounts.ts';
import type { Observer } from './bridge-observer.ts';
import type { Access, BridgeSettings } from './bridge-settings.ts';
import { announces, thisWorker } from './cluster/this-worker.ts';
import { Failure } from './failure.ts';
import { announce, serveStdio } from './run.ts';
import { principalsOf } from './secret-principals.ts';
import { printStatusThrough, scrubWith } from './print-status.ts';
import { atEnd } from './shutdown.ts';

/** The service: one server, or many as one. */
export interface Served {
  /** The name that client configurations use for it. */
  readonly name: string;
  readonly service: Service;
  /** Gives up the clients that this process has for others, within some milliseconds. */
  readonly drain: (timeout: number) => Promise<void>;
  /** Each server by its name, also served at `/servers/<name>/mcp`. */
  readonly members?: ServedMembers | undefined;
}

/** Set if servers can be added and removed. */
export interface ServedMembers {
  readonly find: (name: string) => Service | undefined;
  readonly names: () => readonly string[];
  /** Called once, with a function to call after servers were removed. */
  readonly onchange: (changed: () => void) => void;
}

/** Creates the log of a bridge. All other output of the process goes through it from now on. */
export async function bridgeLog({ log: { level, format }, secrets }: BridgeSettings): Promise<CleanLog> {
  const log = await createLog({ level, format, secrets });
  scrubWith((text) => log.scrub(text));
  if (format === 'json') printStatusThrough((line) => log.write('error', line));
  return log;
}

/**
 * Serves a bridge with the given settings, until the process gets a signal or, over stdio, the client disconnects.
 *
 * @throws Error if it cannot listen.
 */
export async function serveBridge(
  served: Served,
  observer: Observer,
  settings: BridgeSettings,
  log: CleanLog,
): Promise<void> {
  const warn = unrepeated((line) => log.write('warn', line));
  const onerror = ({ message }: Error): void => warn(message);
  const { state, stateKey } = settings;
  const auth = await authFor(settings.access, stateKey);
  // To a server, all clients of the bridge are one caller. Only the bridge can keep their states apart.
  const inboundOptions: InboundOptions = { sealState: auth !== undefined, stateKey, state, onerror };
  // Over stdio, the client runs the bridge.
  const clean = cleanErrors({ scrub: (text) => log.scrub(text), stderr: settings.stdio });
  const around = [clean, ...(await interception(settings.breakpoints))];
  const inbound = inboundTo(observer.served(compose(served.service, ...around)), inboundOptions);
  const {
    drainTimeout,
    listen: { path, maxSessions, idleTimeout },
  } = settings;
  if (settings.stdio) {
    const { wiretap, breakpoints } = settings;
    return serveStdio(inbound, { answerTimeout: drainTimeout, wiretap }, breakpoints);
  }
  const find = (name: string): Service | undefined => {
    const service = served.members?.find(name);
    return service && observer.served(compose(service, ...around));
  };
  const mounts = new Mounts({
    find,
    names: () => served.members?.names() ?? [],
    path,
    inbound: inboundOptions,
    http: { maxSessions, idleTimeout, onerror },
    state: () => handler.state,
  });
  served.members?.onchange(() => mounts.clear());
  const tls = await certificateOf(settings);
  const { health, metrics } = observer;
  const pages = pagesAt({
    ...(settings.health && health.pages),
    ...(metrics && { '/metrics': await pageOf(metrics, { requiresAuth: settings.metrics === 'gated' }) }),
  });
  const faults = await httpFaults(settings.breakpoints, () => handler);
  if (state?.reachable !== undefined) observer.store(state);
  if (state?.bus)
    metrics?.gauge(
      'everwire_bus_delay_seconds',
      'How long another process took to confirm the newest message',
      () => (state.busDelay ?? 0) / 1000,
    );
  const { listen } = await import('../transport/http/server/listen.ts');
  const listener = await listen({
    ...settings.listen,
    onsession: inbound.onsession,
    onrequest: inbound.onrequest,
    tls: tls?.credentials,
    wiretap: settings.wiretap,
    auth,
    state,
    pages: (at) => faults?.page() ?? pages(at) ?? (served.members && mounts.page(at)),
    onerror,
    onrefusal: refusalsTo(log, metrics),
  });
  const { handler } = listener;
  if (metrics) addGauges(metrics, handler, inbound, mounts);
  const unwatch = tls?.watch({
    renew: (credentials) => {
      listener.renewTls(credentials);
      log.write('info', 'the certificate was renewed');
    },
    onerror,
  });
  atEnd(async () => {
    unwatch?.();
    health.drain();
    log.write('debug', 'draining', { sessions: handler.sessions, streams: handler.streams });
    handler.drain();
    await Promise.all([
      inbound.close(drainTimeout),
      mounts.close(drainTimeout),
      // Other processes may still use the servers.
      served.drain(drainTimeout),
    ]);
    await listener.close();
  });
  thisWorker?.listening();
  if (!announces) return;
  const { format, level } = settings.log;
  if (format === 'json') {
    log.write('info', 'listening', { url: listener.url, sseUrl: listener.sseUrl, server: served.name });
  } else if (level === 'debug' || level === 'info') {
    announce(served.name, listener, served.members !== undefined, neededHeaders(settings.access));
  }
}

/** The page with the metrics: with several workers, with those of all, because a request reaches any of them. */
async function pageOf(metrics: Metrics, options: Pick<HttpPage, 'requiresAuth'>): Promise<HttpPage> {
  if (!thisWorker) return metrics.page(options);
  const worker = thisWorker;
  const { metricsPage } = await import('../operate/metrics.ts');
  return metricsPage(() => worker.allMetrics(), options);
}

/** Says what a server is, and how many of its tools are shown. */
export function logServer(
  log: Log,
  server: string,
  { name, version, revision, tools }: ServerDescription,
  ...selections: readonly ToolSelection[]
): void {
  const shown = tools?.filter((tool) => selections.every((selection) => isSelected(selection, tool)));
  log.write('info', 'serving', { server, name, version, revision, tools: shown?.length });
}

/** The header that clients must send, without the secret. With an issuer, clients find out themselves how to log in. */
function neededHeaders({ tokens, keys }: Access): Record<string, string> | undefined {
  if (tokens.length > 0) return { Authorization: 'Bearer <token>' };
  return keys.length > 0 ? { 'X-API-Key': '<key>' } : undefined;
}

/** @throws Failure with code 2 if the files cannot be used. */
async function certificateOf({ tls }: BridgeSettings): Promise<TlsFiles | undefined> {
  if (!tls) return undefined;
  const { tlsFiles } = await import('../operate/tls-files.ts');
  try {
    return await tlsFiles(tls.cert, tls.key);
  } catch (error) {
    throw Failure.usage(`--tls-cert or --tls-key: ${(error as Error).message}`);
  }
}

async function authFor(
  { tokens, keys, issuer }: Access,
  stateKey: string | undefined,
): Promise<Authenticator | undefined> {
  if (tokens.length === 0 && keys.length === 0 && !issuer) return undefined;
  const [{ apiKeyAuth }, { bearerAuth }, { anyAuth }] = await Promise.all([
    import('../auth/api-key.ts'),
    import('../auth/bearer.ts'),
    import('../operate/any-auth.ts'),
  ]);
  const accepted: Authenticator[] = [];
  if (keys.length > 0) accepted.push(apiKeyAuth({ keys: principalsOf('key', keys, stateKey) }));
  if (tokens.length > 0) accepted.push(apiKeyAuth({ keys: principalsOf('bearer', tokens, stateKey), header: false }));
  if (issuer) accepted.push(bearerAuth(issuer));
  return anyAuth(...accepted);
}

/** Counts refusals, and logs them. Malformed requests are not logged: they are the client's mistake. */
function refusalsTo(log: Log, metrics: Metrics | undefined): (refusal: HttpRefusal) => void {
  const warn = unrepeated((line) => log.write('warn', line));
  const inform = unrepeated((line) => log.write('info', line));
  return (refusal) => {
    metrics?.refused(refusal);
    const { reason, status, value, address, principal, method, tool, scopes } = refusal;
    if (reason === 'malformed') return;
    // Clients learn the needed credential and scopes from a refusal, so these refusals are normal.
    const write = reason === 'credential' || reason === 'scope' ? inform : warn;
    const what = value === undefined ? '' : ` ${JSON.stringify(value)}`;
    const about = Object.entries({ address, principal, method, tool, scopes: scopes?.join(' ') })
      .filter(([, known]) => known !== undefined)
      .map(([key, known]) => ` ${key}=${JSON.stringify(known)}`);
    write(
      `refused: ${reason.replaceAll('_', ' ')}${what} (${status ?? 'the response was interrupted'})${about.join('')}`,
    );
  };
}

function addGauges(metrics: Metrics, handler: HttpHandler, inbound: Inbound, mounts: Mounts): void {
  metrics.gauge('everwire_sessions', 'Live sessions', () => handler.sessions + mounts.sessions);
  metrics.gauge('everwire_streams', 'Event streams with a connected reader', () => handler.streams + mounts.streams);
  metrics.counter(
    'everwire_sessions_revived_total',
    'Sessions of other processes that were continued',
    () => handler.revived + mounts.revived,
  );
  metrics.counter(
    'everwire_own_streams_taken_over_total',
    'Own streams of sessions that have moved here from another process',
    () => handler.takenOver + mounts.takenOver,
  );
  // This includes the mounts: their requests come through this handler, and they share its event log.
  metrics.gauge('everwire_http_buffered_bytes', 'Bytes kept in memory for HTTP clients', () => handler.bufferedBytes);
  metrics.gauge('everwire_pending_send_bytes', 'Bytes that wait for servers that do not read', () => sendBudget.bytes);
  metrics.gauge(
    'everwire_suspended_requests',
    'Requests that wait for answers from their clients',
    () => inbound.suspended + mounts.suspended,
  );
}
