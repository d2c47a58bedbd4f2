import type { Counter, Gauge } from 'prom-client';
import type { Exchange, Middleware } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { isNotificationMethod, Method } from '../protocol/methods.ts';
import type { HttpRefusal } from '../transport/http/server/call.ts';
import type { HttpPage } from '../transport/http/server/handler.ts';
import { ifMissing } from '../base/missing-package.ts';
import { printableLine } from '../base/printable.ts';
import { codeLabel, methodLabel, observed, type Ending } from './outcome.ts';
import { respondText } from './page.ts';

/** Which metrics there are. */
export interface MetricsOptions {
  /** Whether to include metrics of this process: CPU, memory, event loop, garbage collection. Default true. */
  readonly process?: boolean | undefined;
  /**
   * Maximum number of tools of one server that are counted by name; the others, and those with a name of more than 128
   * characters or with control characters, count as `other`. Default 200.
   */
  readonly maxTools?: number | undefined;
  /** Labels of all series, for example one that tells several processes apart. Default none. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
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

/** Tools with longer names, in characters, are not counted by name (2025-11-25, server/tools: Tool Names). */
const MAX_TOOL_NAME = 128;

/**
 * Creates the metrics of a process with `prom-client`, which is loaded now. Labels have only known values: methods of
 * the protocol, tools that the server has listed or whose call has succeeded, usual error codes. All values that a caller
 * invents become `other`.
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
  const { process = true, maxTools = 200, labels: ofAll = {} } = options;
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await import('prom-client').catch(
    ifMissing('metrics need', 'prom-client'),
  );
  const registry = new Registry();
  registry.setDefaultLabels({ ...ofAll });
  const registers = [registry];
  if (process) collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string, ...labelNames: string[]): Counter =>
    new Counter({ name, help, labelNames, registers });
  const calls = counter('everwire_calls_total', 'Requests that have ended', 'server', 'method', 'outcome');
  const errors = counter('everwire_errors_total', 'Requests that ended with an error', 'server', 'method', 'code');
  const tools = counter('everwire_tool_calls_total', 'Calls of tools that have ended', 'server', 'tool', 'outcome');
  const duration = new Histogram({
    name: 'everwire_call_duration_seconds',
    help: 'How long requests took',
    labelNames: ['server', 'method'],
    buckets: BUCKETS,
    registers,
  });
  const refused = 'HTTP requests that were refused, and responses that were interrupted because they were not read';
  const refusals = counter('everwire_http_refusals_total', refused, 'reason', 'status');
  const perServer = (name: string, help: string): Gauge => new Gauge({ name, help, labelNames: ['server'], registers });
  const inFlight = perServer('everwire_calls_in_flight', 'Requests that are being answered');
  const subscriptions = perServer('everwire_subscriptions', 'Open subscriptions');

  /** @param known the tools that the server has. */
  const learn = (known: Set<string>, name: unknown): void => {
    if (known.size >= maxTools || typeof name !== 'string' || name.length > MAX_TOOL_NAME) return;
    // The page may be shown on a terminal.
    if (printableLine(name) === name) known.add(name);
  };
  const learnListed = (known: Set<string>, result: JsonObject | undefined): void => {
    const listed: unknown = result?.['tools'];
    if (!Array.isArray(listed)) return;
    for (const tool of listed) {
      if (known.size >= maxTools) return;
      if (isObject(tool)) learn(known, tool['name']);
    }
  };

  const count = (server: string, { method: given, params }: Exchange, ending: Ending, known: Set<string>): void => {
    const method = methodLabel(given);
    const { outcome, code, seconds } = ending;
    calls.inc({ server, method, outcome });
    if (code !== undefined) errors.inc({ server, method, code: codeLabel(code) });
    if (given !== Method.Listen) duration.observe({ server, method }, seconds);
    if (given !== Method.CallTool) return;
    const name: unknown = params['name'];
    // Callers invent names, and some servers answer an unknown one with `isError`.
    if (outcome === 'ok' || outcome === 'input_required') learn(known, name);
    const tool = typeof name === 'string' && known.has(name) ? name : 'other';
    tools.inc({ server, tool, outcome });
  };

  const reading = (name: string, help: string, read: Reading) => {
    return { name, help, labelNames: typeof read() === 'number' ? [] : ['server'], registers };
  };

  const text = (): Promise<string> => registry.metrics();

  return {
    middleware: (server) => {
      const known = new Set<string>();
      // Make the series exist before the first call.
      inFlight.set({ server }, 0);
      subscriptions.set({ server }, 0);
      return (next) => (exchange) => {
        if (isNotificationMethod(exchange.method)) return next(exchange);
        const open = exchange.method === Method.Listen ? subscriptions : inFlight;
        open.inc({ server });
        return observed(next, exchange, (ending, result) => {
          open.dec({ server });
          if (exchange.method === Method.ListTools) learnListed(known, result);
          count(server, exchange, ending, known);
        });
      };
    },
    gauge: (name, help, read) => {
      const collect = (): void => show(read, (labels, value) => gauge.set(labels, value), gauge);
      const gauge: Gauge = new Gauge({ ...reading(name, help, read), collect });
    },
    counter: (name, help, read) => {
      const collect = (): void => show(read, (labels, value) => total.inc(labels, value), total);
      const total: Counter = new Counter({ ...reading(name, help, read), collect });
    },
    refused: ({ reason, status }) => refusals.inc({ reason, status: status ?? 'none' }),
    text,
    page: (page = {}) => metricsPage(text, page),
  };
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The page that serves what `read` returns. */
export function metricsPage(
  read: () => Promise<string>,
  { requiresAuth = false }: Pick<HttpPage, 'requiresAuth'>,
): HttpPage {
  return {
    requiresAuth,
    answer: (call) =>
      void read().then(
        (all) => respondText(call, 200, all, CONTENT_TYPE),
        (error: unknown) => respondText(call, 500, `The metrics cannot be read: ${(error as Error).message}\n`),
      ),
  };
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
