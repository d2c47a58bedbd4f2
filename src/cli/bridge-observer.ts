import type { Bridge } from '../bridge/bridge.ts';
import { compose, type Middleware, type Service } from '../core/exchange.ts';
import { logCalls } from '../operate/call-log.ts';
import { createHealth, type Health } from '../operate/health.ts';
import type { Log } from '../operate/logs.ts';
import type { Metrics } from '../operate/metrics.ts';
import { anyReachable, reachability, type Reachability } from '../operate/reachability.ts';
import type { Tracing } from '../operate/tracing.ts';
import type { BridgeSettings } from './bridge-settings.ts';

/** Observes the servers behind a bridge: whether they can be reached, what is asked of them, and how that ends. */
export async function createObserver(settings: BridgeSettings, log: Log): Promise<Observer> {
  const metrics =
    settings.metrics === 'none' ? undefined : await (await import('../operate/metrics.ts')).createMetrics();
  return new Observer(metrics, await tracingHere(), settings.log.requests ? log : undefined);
}

/** Spans, where something has set up OpenTelemetry in this process: `node --import`, say. Nothing is loaded otherwise. */
async function tracingHere(): Promise<Tracing | undefined> {
  // Where its API keeps what was set up, for all of its copies of one major version.
  if (!(Symbol.for('opentelemetry.js.api.1') in globalThis)) return undefined;
  return (await import('../operate/tracing.ts')).createTracing();
}

export class Observer {
  /** Ready while one of the servers can be reached. */
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
    metrics?.gauge('everwire_upstreams', 'Connections to servers, or their processes', () =>
      this.#each(({ upstreams }) => upstreams),
    );
    metrics?.counter('everwire_upstream_restarts_total', 'Connections that were lost and made again', () =>
      this.#each(({ restarts }) => restarts),
    );
  }

  /**
   * Observes one server.
   *
   * @param name by which figures and logs tell of it; one that was observed by this name is not any more.
   * @returns its service, to be called in place of that of the bridge.
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

  /** Observes a server no longer. */
  forget(name: string): void {
    this.#servers.delete(name);
  }

  /** What is served to clients of a service, whatever is behind it. */
  served(service: Service): Service {
    return this.#tracing ? compose(service, this.#tracing.server()) : service;
  }

  #each(read: (bridge: Bridge) => number): Record<string, number> {
    return Object.fromEntries(Array.from(this.#servers, ([name, { bridge }]) => [name, read(bridge)]));
  }
}
