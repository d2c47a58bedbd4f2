import type { Bridge } from '../bridge/bridge.ts';
import { compose, type Middleware, type Service } from '../core/exchange.ts';
import { logCalls } from '../operate/call-log.ts';
import { createHealth } from '../operate/health.ts';
import type { Log } from '../operate/logs.ts';
import { MissingPackage } from '../base/missing-package.ts';
import { anyReachable, reachability, type Reachability } from '../operate/reachability.ts';
import type { Tracing } from '../operate/tracing.ts';
import type { BridgeSettings } from './bridge-settings.ts';
import type { OpenStore } from './open-store.ts';
import { thisWorker } from './cluster/this-worker.ts';

export type Observer = Awaited<ReturnType<typeof createObserver>>;

type ObservedStore = Pick<OpenStore, 'reachable' | 'refusal'>;

/** Observes the servers behind a bridge: whether they are reachable, which requests they get, and how those end. */
export async function createObserver(settings: BridgeSettings, log: Log) {
  const metrics =
    settings.metrics === 'none'
      ? undefined
      : await (
          await import('../operate/metrics.ts')
        ).createMetrics({ labels: thisWorker && { worker: String(thisWorker.number) } });
  if (metrics && thisWorker) thisWorker.readMetrics = () => metrics.text();
  const tracing = await tracingHere(log);
  const servers = new Map<string, { readonly bridge: Bridge; readonly reach: Reachability }>();
  const byServer = (read: (bridge: Bridge) => number) => (): Record<string, number> =>
    Object.fromEntries(Array.from(servers, ([name, { bridge }]) => [name, read(bridge)]));
  metrics?.gauge(
    'everwire_upstreams',
    'Connections to servers, including their processes',
    byServer(({ upstreams }) => upstreams),
  );
  metrics?.gauge(
    'everwire_upstream_up',
    '1 if the last attempt to connect to the server, or the last call, succeeded, else 0',
    () => Object.fromEntries(Array.from(servers, ([name, { reach }]) => [name, Number(reach.reachable)])),
  );
  metrics?.counter(
    'everwire_upstream_restarts_total',
    'Connections that were lost and reopened',
    byServer(({ restarts }) => restarts),
  );
  if (settings.state?.bus && settings.state.claims) {
    metrics?.gauge(
      'everwire_pins',
      'Clients whose connection is in this process, on behalf of all processes',
      byServer(({ pins }) => pins),
    );
    metrics?.counter(
      'everwire_forwarded_requests_total',
      'Requests that were passed on to the process with the connection of their client',
      byServer(({ forwarded }) => forwarded),
    );
  }
  let observedStore: ObservedStore = { reachable: true };
  return {
    /** Ready while at least one server is reachable. Without the store, which all processes share, known sessions go on. */
    health: createHealth(
      { upstream: anyReachable(() => Array.from(servers.values(), ({ reach }) => reach)) },
      { notes: { store: () => (observedStore.reachable ? observedStore.refusal : 'unreachable') } },
    ),
    /** Observes the store, which may become unreachable, or refuse commands. */
    store: (store: ObservedStore): void => {
      observedStore = store;
      metrics?.gauge('everwire_store_up', '1 if the store answers and refuses nothing, else 0', () =>
        Number(store.reachable && store.refusal === undefined),
      );
    },
    metrics,
    /**
     * Observes one server.
     *
     * @param name the server's name in metrics and logs. It replaces an observed server with the same name.
     * @param inner changes what is observed.
     * @returns the observed service. Call it instead of the bridge's own.
     */
    server: (name: string, bridge: Bridge, inner: Middleware): Service => {
      const reach = reachability({ probe: () => bridge.check() });
      servers.set(name, { bridge, reach });
      const around: Middleware[] = [];
      if (metrics) around.push(metrics.middleware(name));
      if (settings.log.requests) around.push(logCalls(log, name));
      around.push(reach.middleware);
      if (tracing) around.push(tracing.client());
      return compose(bridge.service, ...around, inner);
    },
    /** Takes over whether an attempt to connect to a server has succeeded. */
    report: (name: string, bridge: Bridge, answered: boolean): void => {
      const observed = servers.get(name);
      if (observed?.bridge === bridge) observed.reach.report(answered);
    },
    /** Stops observing a server. */
    forget: (name: string): void => void servers.delete(name),
    /** The part of a service that clients use. */
    served: (service: Service): Service => (tracing ? compose(service, tracing.server()) : service),
  };
}

/**
 * Records spans if OpenTelemetry is set up in this process, for example with `node --import`. Loads nothing otherwise.
 */
async function tracingHere(log: Log): Promise<Tracing | undefined> {
  // The OpenTelemetry API registers its providers under this symbol. All copies of one major version share it.
  if (!(Symbol.for('opentelemetry.js.api.1') in globalThis)) return undefined;
  const { createTracing } = await import('../operate/tracing.ts');
  return createTracing().catch((error: unknown) => {
    if (!(error instanceof MissingPackage)) throw error;
    log.write('warn', `OpenTelemetry is set up, but nothing is traced: ${error.message}`);
    return undefined;
  });
}
