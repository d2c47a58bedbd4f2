import type * as PromClient from 'prom-client';
import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Exchange, Middleware } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { isNotificationMethod, Method } from '../protocol/methods.ts';
import type { HttpRefusal } from '../transport/http/server/call.ts';
import type { HttpPage } from '../transport/http/server/handler.ts';
import { codeLabel, methodLabel, observed, type Ending } from './outcome.ts';
import { respondText } from './page.ts';

/** What is measured. */
export interface MetricsOptions {
  /** Whether to include metrics of this process: CPU, memory, event loop, garbage collection. Default true. */
  readonly process?: boolean | undefined;
  /** Maximum number of tools of one server that are counted by name; the others count as `other`. Default 200. */
  readonly maxTools?: number | undefined;
}

/** The current value of a gauge or counter: one number, or one number per server name. */
export type Reading = () => number | Readonly<Record<string, number>>;

/** The Prometheus metrics of a process. */
export interface Metrics {
  /**
   * Counts and times the requests to a server. Put it around the service: `server.use(metrics.middleware('shop'))`.
   *
   * @param server the value of the label `server`.
   */
  middleware(server: string): Middleware;
  /**
   * Adds a gauge: `metrics.gauge('everwire_sessions', 'Live sessions', () => handler.sessions)`.
   *
   * @throws Error if the name is taken or invalid.
   */
  gauge(name: string, help: string, read: Reading): void;
  /** Adds a counter. @throws Error if the name is taken or invalid. */
  counter(name: string, help: string, read: Reading): void;
  /**
   * Counts a refusal of an HTTP server. Give it to the handler as `onrefusal`; it needs no `this`.
   */
  readonly refused: (refusal: HttpRefusal) => void;
  /** All metrics in the text format of Prometheus, version 0.0.4. */
  text(): Promise<string>;
  /**
   * The page that serves `text`. With `requiresAuth` it is for authenticated callers only; by default anyone may read
   * it.
   */
  page(options?: Pick<HttpPage, 'requiresAuth'>): HttpPage;
}

/**
 * Histogram bucket bounds in seconds: the bounds of OpenTelemetry for `mcp.server.operation.duration`, and some smaller
 * ones for fast calls.
 */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * Creates the metrics of a process with `prom-client`, which is loaded now. Labels have only known values: methods of
 * the protocol, tools that the server has listed, usual error codes. All values that a caller invents become `other`.
 *
 * - `everwire_calls_total{server,method,outcome}`: requests that have ended; `outcome` is one of `Outcome`.
 * - `everwire_errors_total{server,method,code}`: requests that ended with a JSON-RPC error.
 * - `everwire_call_duration_seconds{server,method}`: a histogram of all requests except `subscriptions/listen`.
 * - `everwire_tool_calls_total{server,tool,outcome}`: tool calls by tool name.
 * - `everwire_http_refusals_total{reason,status}`: refused HTTP requests, if `refused` is given to the handler.
 * - `everwire_calls_in_flight{server}` and `everwire_subscriptions{server}`: requests and subscriptions in progress.
 *
 * @throws Error if `prom-client` is not installed.
 */
export async function createMetrics(options: MetricsOptions = {}): Promise<Metrics> {
  return new PrometheusMetrics(await load(), options);
}

type Prometheus = typeof PromClient;

async function load(): Promise<Prometheus> {
  try {
    return await import('prom-client');
  } catch (cause) {
    throw new Error('metrics need the package prom-client: npm install prom-client', { cause });
  }
}

class PrometheusMetrics implements Metrics {
  readonly #prometheus: Prometheus;
  readonly #registry: Registry;
  readonly #calls: Counter;
  readonly #errors: Counter;
  readonly #duration: Histogram;
  readonly #tools: Counter;
  readonly #refusals: Counter;
  readonly #inFlight: Gauge;
  readonly #subscriptions: Gauge;
  readonly #maxTools: number;

  constructor(prometheus: Prometheus, { process = true, maxTools = 200 }: MetricsOptions) {
    this.#prometheus = prometheus;
    this.#maxTools = maxTools;
    const registry = new prometheus.Registry();
    this.#registry = registry;
    const registers = [registry];
    if (process) prometheus.collectDefaultMetrics({ register: registry });
    const counter = (name: string, help: string, labelNames: string[]): Counter =>
      new prometheus.Counter({ name, help, labelNames, registers });
    const gauge = (name: string, help: string): Gauge =>
      new prometheus.Gauge({ name, help, labelNames: ['server'], registers });
    this.#calls = counter('everwire_calls_total', 'Requests that have ended', ['server', 'method', 'outcome']);
    this.#errors = counter('everwire_errors_total', 'Requests that ended with an error', ['server', 'method', 'code']);
    this.#tools = counter('everwire_tool_calls_total', 'Calls of tools that have ended', ['server', 'tool', 'outcome']);
    this.#duration = new prometheus.Histogram({
      name: 'everwire_call_duration_seconds',
      help: 'How long requests took',
      labelNames: ['server', 'method'],
      buckets: BUCKETS,
      registers,
    });
    const refusals = 'HTTP requests that were refused, and responses that were interrupted because they were not read';
    this.#refusals = counter('everwire_http_refusals_total', refusals, ['reason', 'status']);
    this.#inFlight = gauge('everwire_calls_in_flight', 'Requests that are being answered');
    this.#subscriptions = gauge('everwire_subscriptions', 'Open subscriptions');
  }

  middleware(server: string): Middleware {
    /** Tools that the server has listed. */
    const known = new Set<string>();
    // Make the series exist before the first call.
    this.#inFlight.set({ server }, 0);
    this.#subscriptions.set({ server }, 0);
    return (next) => (exchange) => {
      if (isNotificationMethod(exchange.method)) return next(exchange);
      const open = exchange.method === Method.Listen ? this.#subscriptions : this.#inFlight;
      open.inc({ server });
      return observed(next, exchange, (ending, result) => {
        open.dec({ server });
        if (exchange.method === Method.ListTools) this.#learn(known, result);
        this.#count(server, exchange, ending, known);
      });
    };
  }

  gauge(name: string, help: string, read: Reading): void {
    const collect = (): void => show(read, (labels, value) => gauge.set(labels, value), gauge);
    const gauge: Gauge = new this.#prometheus.Gauge({ ...this.#read(name, help, read), collect });
  }

  counter(name: string, help: string, read: Reading): void {
    const collect = (): void => show(read, (labels, value) => counter.inc(labels, value), counter);
    const counter: Counter = new this.#prometheus.Counter({ ...this.#read(name, help, read), collect });
  }

  #read(name: string, help: string, read: Reading) {
    return { name, help, labelNames: typeof read() === 'number' ? [] : ['server'], registers: [this.#registry] };
  }

  readonly refused = ({ reason, status }: HttpRefusal): void => {
    this.#refusals.inc({ reason, status: status ?? 'none' });
  };

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  page({ requiresAuth = false }: Pick<HttpPage, 'requiresAuth'> = {}): HttpPage {
    return {
      requiresAuth,
      answer: (call) =>
        void this.text().then(
          (text) => respondText(call, 200, text, this.#registry.contentType),
          (error: unknown) => respondText(call, 500, `The figures cannot be read: ${(error as Error).message}\n`),
        ),
    };
  }

  #learn(known: Set<string>, result: JsonObject | undefined): void {
    const tools: unknown = result?.['tools'];
    if (!Array.isArray(tools)) return;
    for (const tool of tools) {
      if (known.size >= this.#maxTools) return;
      if (isObject(tool) && typeof tool['name'] === 'string') known.add(tool['name']);
    }
  }

  #count(server: string, { method: given, params }: Exchange, ending: Ending, known: ReadonlySet<string>): void {
    const method = methodLabel(given);
    const { outcome, code, seconds } = ending;
    this.#calls.inc({ server, method, outcome });
    if (code !== undefined) this.#errors.inc({ server, method, code: codeLabel(code) });
    if (given !== Method.Listen) this.#duration.observe({ server, method }, seconds);
    if (given !== Method.CallTool) return;
    const name: unknown = params['name'];
    const tool = typeof name === 'string' && known.has(name) ? name : 'other';
    this.#tools.inc({ server, tool, outcome });
  }
}

/** Replaces all earlier values by the current ones, because servers come and go. */
function show(
  read: Reading,
  set: (labels: Record<string, string>, value: number) => void,
  shown: { reset(): void },
): void {
  const value = read();
  shown.reset();
  if (typeof value === 'number') return set({}, value);
  for (const [server, each] of Object.entries(value)) set({ server }, each);
}
