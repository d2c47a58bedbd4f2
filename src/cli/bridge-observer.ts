import type { Bridge } from '../bridge/bridge.ts';
import { compose, type Middleware, type Service } from '../core/exchange.ts';
import { logCalls } from '../operate/call-log.ts';
import { createHealth, type Health } from '../operate/health.ts';
import type { Log } from '../operate/logs.ts';
import type { Metrics } from '../operate/metrics.ts';
import { anyReachable, reachability, type Reachability } from '../operate/reachability.ts';
import type { Tracing } from '../operate/tracing.ts';
import type { BridgeSettings } from './bridge-settings.ts';

/** Observes the servers behind a bridge: whether they are reachable, which requests they get, and how those end. */
export async function createObserver(settings: BridgeSettings, log: Log): Promise<Observer> {
  const metrics =
    settings.metrics === 'none' ? undefined : await (await import('../operate/metrics.ts')).createMetrics();
  return new Observer(metrics, await tracingHere(), settings.log.requests ? log : undefined);
}

/**
 * Records spans if OpenTelemetry is set up in this process, for example with `node --import`. Loads nothing otherwise.
 */
async function tracingHere(): Promise<Tracing | undefined> {
  // The OpenTelemetry API registers its providers under this symbol. All copies of one major version share it.
  if (!(Symbol.for('opentelemetry.js.api.1') in globalThis)) return undefined;
  return (await import('../operate/tracing.ts')).createTracing();
}

export class Observer {
  /** Ready while at least one server is reachable. */
  readonly health: Health;
  readonly metrics: Metrics | undefined;
  readonly #tracing: Tracing | undefined;
  /** Takes a line for each request. */
  readonly #log: Log | undefined;
  readonly #servers = new Map<string, { readonly bridge: Bridge; readonly reach: Reachability }>();

  constructor(metrics: Metrics | undefined, tracing: Tracing | undefined, log: Log | undefined) {
    this.metrics = metrics;
    this.#tracing = tracing;
    this.#log = log;
    this.health = createHealth({
      upstream: anyReachable(() => Array.from(this.#servers.values(), ({ reach }) => reach)),
    });
    metrics?.gauge('everwire_upstreams', 'Connections to servers, including their processes', () =>
      this.#each(({ upstreams }) => upstreams),
    );
    metrics?.counter('everwire_upstream_restarts_total', 'Connections that were lost and reopened', () =>
      this.#each(({ restarts }) => restarts),
    );
  }

  /**
   * Observes one server.
   *
   * @param name the server's name in metrics and logs. It replaces an observed server with the same name.
   * @returns the observed service. Call it instead of the bridge's own.
   */
  server(name: string, bridge: Bridge): Service {
    const reach = reachability({ probe: () => bridge.check() });
    this.#servers.set(name, { bridge, reach });
    const around: Middleware[] = [];
    if (this.metrics) around.push(this.metrics.middleware(name));
    if (this.#log) around.push(logCalls(this.#log, name));
    around.push(reach.middleware);
    if (this.#tracing) around.push(this.#tracing.client());
    return compose(bridge.service, ...around);
  }

  /** Stops observing a server. */
  forget(name: string): void {
    this.#servers.delete(name);
  }

  /** The part of a service that clients use. */
  served(service: Service): Service {
    return this.#tracing ? compose(service, this.#tracing.server()) : service;
  }

  #each(read: (bridge: Bridge) => number): Record<string, number> {
    return Object.fromEntries(Array.from(this.#servers, ([name, { bridge }]) => [name, read(bridge)]));
  }
}
