import { compose, type Middleware, type Service } from '../core/exchange.ts';
import { createHealth, type Health } from '../operate/health.ts';
import { createLog, logCalls, type Log } from '../operate/logs.ts';
import type { Metrics } from '../operate/metrics.ts';
import { pagesAt } from '../operate/page.ts';
import { reachability } from '../operate/reachability.ts';
import type { TlsFiles } from '../operate/tls-files.ts';
import type { Gate } from '../transport/http/gate.ts';
import type { HttpPage } from '../transport/http/handler.ts';
import type { HttpListener } from '../transport/http/listen.ts';
import { createInbound, type Inbound } from '../wire/serve.ts';
import type { Access, BridgeSettings } from './bridge-settings.ts';
import { say, sayThrough } from './say.ts';
import { atEnd, stop } from './shutdown.ts';

/** What is behind a bridge, as far as serving it goes. */
export interface Bridged {
  /** What clients may call it, and the label of its figures. */
  readonly name: string;
  readonly service: Service;
  /** Live connections to servers: processes, where they are started by a command. */
  readonly upstreams: number;
  /** How often a connection was made again. */
  readonly restarts: number;
  /** Rejects where no server can be reached. */
  check(): Promise<void>;
  /** Further services by their paths, at the moment. */
  readonly pages?: ((path: string) => HttpPage | undefined) | undefined;
}

/** The log of a bridge. What else the process says goes through it from now on. */
export async function bridgeLog({ log: { level, format }, secrets }: BridgeSettings): Promise<Log> {
  const log = await createLog({ level, format, secrets });
  if (format === 'json') sayThrough((line) => log.write('error', line));
  return log;
}

/**
 * Serves what is behind a bridge as the settings say, until the process is told to stop or, over stdio, the client is gone.
 *
 * @throws Error where it cannot listen.
 */
export async function serveBridge(bridged: Bridged, settings: BridgeSettings, log: Log): Promise<void> {
  const { name } = bridged;
  const onerror = (error: Error): void => log.write('warn', error.message);
  const reach = reachability({ probe: () => bridged.check() });
  const health = createHealth({ upstream: reach.check });
  const metrics =
    settings.metrics === 'none' ? undefined : await (await import('../operate/metrics.ts')).createMetrics();
  const [around, within] = await spans();
  const service = compose(
    bridged.service,
    ...around,
    ...(metrics ? [metrics.middleware(name)] : []),
    ...(settings.log.requests ? [logCalls(log, name)] : []),
    reach.middleware,
    ...within,
  );
  const inbound = createInbound(service, { sealState: false, onerror });
  if (settings.stdio) return serveStdio(inbound);
  const tls =
    settings.tls && (await (await import('../operate/tls-files.ts')).tlsFiles(settings.tls.cert, settings.tls.key));
  const listener = await listenAs(settings, {
    inbound,
    onerror,
    gate: await gateFor(settings.access),
    tls,
    pages: pagesOf(bridged, settings, health, metrics),
  });
  if (metrics) addGauges(metrics, bridged, listener, inbound);
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
    log.write('debug', 'draining', { sessions: listener.handler.sessions, streams: listener.handler.streams });
    listener.handler.drain();
    await inbound.close(settings.drainTimeout);
    await listener.close();
  });
  announce(name, listener, settings, log);
}

/** Spans, where something has set up OpenTelemetry in this process: `node --import`, say. Nothing is loaded otherwise. */
async function spans(): Promise<[Middleware[], Middleware[]]> {
  // Where its API keeps what was set up, for all of its copies of one major version.
  if (!(Symbol.for('opentelemetry.js.api.1') in globalThis)) return [[], []];
  const { createTracing } = await import('../operate/tracing.ts');
  const tracing = await createTracing();
  return tracing ? [[tracing.server()], [tracing.client()]] : [[], []];
}

async function serveStdio(inbound: Inbound): Promise<void> {
  const { stdioServerTransport } = await import('../transport/stdio/server.ts');
  const transport = stdioServerTransport();
  // Whoever sends a signal over stdio is about to send a harder one: nothing is waited for.
  atEnd(() => transport.close());
  await inbound.connect(transport);
  const closed = transport.onclose;
  transport.onclose = () => {
    closed?.();
    void stop();
  };
}

async function gateFor({ tokens, keys, issuer }: Access): Promise<Gate | undefined> {
  if (tokens.length === 0 && keys.length === 0 && !issuer) return undefined;
  const [{ apiKeyAuth }, { bearerAuth }, { anyGate }] = await Promise.all([
    import('../auth/api-key.ts'),
    import('../auth/bearer.ts'),
    import('../operate/any-gate.ts'),
  ]);
  const owners = (secrets: readonly string[], kind: string): Record<string, string> =>
    Object.fromEntries(secrets.map((secret, index) => [secret, `${kind}-${index + 1}`]));
  const gates: Gate[] = [];
  if (keys.length > 0) gates.push(apiKeyAuth({ keys: owners(keys, 'key') }));
  if (tokens.length > 0) gates.push(apiKeyAuth({ keys: owners(tokens, 'bearer'), header: false }));
  if (issuer) {
    const { jwksUri, ...others } = issuer;
    gates.push(bearerAuth({ ...others, ...(jwksUri !== undefined && { jwksUri }) }));
  }
  return anyGate(...gates);
}

interface Listening {
  readonly inbound: Inbound;
  readonly onerror: (error: Error) => void;
  readonly gate: Gate | undefined;
  readonly tls: TlsFiles | undefined;
  readonly pages: (path: string) => HttpPage | undefined;
}

async function listenAs(settings: BridgeSettings, { inbound, tls, ...others }: Listening): Promise<HttpListener> {
  const { listen } = await import('../transport/http/listen.ts');
  const { host, port, path, allowedHosts, allowedOrigins, maxSessions, idleTimeout } = settings;
  const { onsession, onrequest } = inbound;
  return listen({
    ...{ host, port, path, allowedHosts, allowedOrigins, maxSessions, idleTimeout },
    ...{ onsession, onrequest, tls: tls?.credentials },
    ...others,
  });
}

/** @throws Failure where the endpoint is in the way of a page. */
function pagesOf(
  { pages: further }: Bridged,
  settings: BridgeSettings,
  health: Health,
  metrics: Metrics | undefined,
): (path: string) => HttpPage | undefined {
  const own = pagesAt({
    ...(settings.health && health.pages),
    ...(metrics && { '/metrics': metrics.page(settings.metrics === 'gated') }),
  });
  return (path) => own(path) ?? further?.(path);
}

function addGauges(metrics: Metrics, bridged: Bridged, { handler }: HttpListener, inbound: Inbound): void {
  metrics.gauge('everwire_sessions', 'Live sessions', () => handler.sessions);
  metrics.gauge('everwire_streams', 'Event streams that somebody reads', () => handler.streams);
  metrics.gauge('everwire_parked_exchanges', 'Requests that wait for answers of their callers', () => inbound.parked);
  metrics.gauge('everwire_upstreams', 'Connections to servers, or their processes', () => bridged.upstreams);
  metrics.counter('everwire_upstream_restarts_total', 'Connections made again', () => bridged.restarts);
}

function announce(
  name: string,
  { url, sseUrl }: HttpListener,
  { log: { format, level } }: BridgeSettings,
  log: Log,
): void {
  if (format === 'json') return log.write('info', 'listening', { url, sseUrl, server: name });
  if (level !== 'debug' && level !== 'info') return;
  say(`listening on ${url}`);
  if (sseUrl) say(`HTTP+SSE, for clients of 2024-11-05, on ${sseUrl}`);
  say('client configuration:');
  process.stderr.write(`${JSON.stringify({ mcpServers: { [name]: { type: 'http', url } } }, null, 2)}\n`);
}
