import type * as OpenTelemetry from '@opentelemetry/api';
import type { Attributes, Context, Link, Span, SpanKind, TextMapGetter, TextMapSetter } from '@opentelemetry/api';
import { derive } from '../core/derive.ts';
import type { Exchange, Middleware, Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { VERSION } from '../version.ts';
import { ifMissing } from '../base/missing-package.ts';
import { bounded, nameIn, observed, type Ending } from './outcome.ts';

/** Spans for requests, by OpenTelemetry's conventions for MCP. */
export interface Tracing {
  /**
   * Creates a span of kind `SERVER` for each incoming request. Its parent comes from the `_meta` of the request, else it
   * is the active span. If `_meta` has a parent, the active span is linked. Inner middleware and the service see the new
   * span in `_meta`. Put it outermost.
   *
   * @param attributes added to each span.
   */
  server(attributes?: Readonly<Record<string, string>>): Middleware;
  /**
   * Creates a span of kind `CLIENT` for each outgoing request. Its parent is the active span, else it comes from `_meta`.
   * `_meta` then names the new span. Put it innermost, or in the `middleware` of a client.
   *
   * @param attributes added to each span: `{ 'server.address': 'mcp.example.com' }`.
   */
  client(attributes?: Readonly<Record<string, string>>): Middleware;
}

/**
 * Creates spans with `@opentelemetry/api`, which is loaded now. Without an OpenTelemetry SDK in the process there are no
 * spans, and `_meta` is passed on unchanged. Spans contain the method, the tool or prompt, the revision and the outcome.
 * They contain no arguments, results or error messages, because error messages may quote arguments.
 *
 * `subscriptions/listen` gets no span, because it lasts as long as its caller.
 *
 * @throws Error if `@opentelemetry/api` is not installed.
 */
export async function createTracing(): Promise<Tracing> {
  return new ApiTracing(await import('@opentelemetry/api').catch(ifMissing('spans need', '@opentelemetry/api')));
}

type Api = typeof OpenTelemetry;

/**
 * Reads a trace context from `_meta` (2026-07-28, basic: OpenTelemetry trace context). The values were not validated.
 */
const READ: TextMapGetter<JsonObject> = {
  keys: (meta) => Object.keys(meta),
  get: (meta, key) => {
    const value: unknown = Object.hasOwn(meta, key) ? meta[key] : undefined;
    return typeof value === 'string' ? value : undefined;
  },
};
const WRITE: TextMapSetter<JsonObject> = {
  set: (meta, key, value) => {
    meta[key] = value;
  },
};

class ApiTracing implements Tracing {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  server(attributes: Readonly<Record<string, string>> = {}): Middleware {
    const { context, isSpanContextValid, ROOT_CONTEXT, SpanKind: Kind, trace } = this.#api;
    return this.#middleware(Kind.SERVER, attributes, (meta) => {
      const parent = this.#extract(ROOT_CONTEXT, meta);
      const remote = trace.getSpanContext(parent);
      if (remote && isSpanContextValid(remote)) return { parent, links: this.#ambient() };
      return { parent: this.#extract(context.active(), meta), links: [] };
    });
  }

  client(attributes: Readonly<Record<string, string>> = {}): Middleware {
    const { context, SpanKind: Kind } = this.#api;
    return this.#middleware(Kind.CLIENT, attributes, (meta) => {
      const active = context.active();
      return { parent: this.#ambient().length > 0 ? active : this.#extract(active, meta), links: [] };
    });
  }

  /** A link to the active span, for example that of an HTTP server. Empty if there is none. */
  #ambient(): Link[] {
    const { isSpanContextValid, trace } = this.#api;
    const active = trace.getActiveSpan()?.spanContext();
    return active && isSpanContextValid(active) ? [{ context: active }] : [];
  }

  #extract(base: Context, meta: JsonObject | undefined): Context {
    return meta ? this.#api.propagation.extract(base, meta, READ) : base;
  }

  #middleware(
    kind: SpanKind,
    extra: Readonly<Record<string, string>>,
    from: (meta: JsonObject | undefined) => { parent: Context; links: Link[] },
  ): Middleware {
    const { context, trace } = this.#api;
    return (next) => (exchange) => {
      if (exchange.method === Method.Listen) return next(exchange);
      const meta: unknown = exchange.params['_meta'];
      const { parent, links } = from(isObject(meta) ? meta : undefined);
      const attributes = { ...attributesOf(exchange), ...extra };
      const options = { kind, attributes, links };
      const span = trace.getTracer('everwire', VERSION).startSpan(spanName(exchange), options, parent);
      const within = trace.setSpan(parent, span);
      return context.with(within, () => this.#spanned(span, this.#passedOn(exchange, within), next));
    };
  }

  async #spanned(span: Span, exchange: Exchange, next: Service): Promise<JsonObject> {
    if (!span.isRecording()) return invoke(next, exchange);
    return observed(next, exchange, (ending) => this.#end(span, ending));
  }

  #end(span: Span, { outcome, code }: Ending): void {
    if (code !== undefined) span.setAttribute('rpc.response.status_code', String(code));
    // A cancelled request has not failed.
    if (outcome === 'tool_error' || outcome === 'error') {
      span.setAttribute('error.type', code === undefined ? outcome : String(code));
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    span.end();
  }

  /** The exchange for the next service, with the new trace context. */
  #passedOn(exchange: Exchange, within: Context): Exchange {
    const carrier: JsonObject = {};
    this.#api.propagation.inject(within, carrier, WRITE);
    if (Object.keys(carrier).length === 0) return exchange;
    const meta: unknown = exchange.params['_meta'];
    const kept: JsonObject = isObject(meta) ? { ...meta } : {};
    // `tracestate` belongs to one parent only (W3C Trace Context, section 3.3).
    if (carrier['traceparent'] !== undefined) delete kept['tracestate'];
    return derive(exchange, { params: { ...exchange.params, _meta: { ...kept, ...carrier } } });
  }
}

/**
 * For example `tools/call add`. Names that a caller chooses are cut to a maximum length. They are safe in a span,
 * because spans are not time series.
 */
function spanName(exchange: Exchange): string {
  const name = nameIn(exchange);
  const method = bounded(exchange.method, 64);
  return name === undefined ? method : `${method} ${name}`;
}

function attributesOf(exchange: Exchange): Attributes {
  const { method, params, caller, header } = exchange;
  const attributes: Attributes = {
    'mcp.method.name': bounded(method, 64),
    'mcp.protocol.version': caller.revision,
  };
  const name = nameIn(exchange);
  if (method === Method.CallTool) attributes['gen_ai.operation.name'] = 'execute_tool';
  if (name !== undefined) attributes[method === Method.CallTool ? 'gen_ai.tool.name' : 'gen_ai.prompt.name'] = name;
  if (method === Method.ReadResource && typeof params['uri'] === 'string') {
    attributes['mcp.resource.uri'] = bounded(withoutSecrets(params['uri']), 256);
  }
  if (caller.session) attributes['mcp.session.id'] = caller.session.id;
  if (header) Object.assign(attributes, { 'network.transport': 'tcp', 'network.protocol.name': 'http' });
  return attributes;
}

/** A URI without user, query and fragment, which may be secret. */
function withoutSecrets(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z\d+.-]*:\/\/)[^/@]*@/i, '$1');
}
