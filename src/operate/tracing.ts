import type * as OpenTelemetry from '@opentelemetry/api';
import type { Attributes, Context, Link, Span, SpanKind, TextMapGetter, TextMapSetter } from '@opentelemetry/api';
import { derive } from '../core/derive.ts';
import type { Exchange, Middleware, Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { VERSION } from '../version.ts';
import { bounded, nameIn, observed, type Ending } from './outcome.ts';

/** Spans for requests, by OpenTelemetry's conventions for MCP. */
export interface Tracing {
  /**
   * A span of kind `SERVER` for each request that comes in. Its parent is what `_meta` of the request says, else the span
   * that is active, which is linked otherwise; what is behind it sees the new span in `_meta`, so the trace goes on whatever
   * that is. Put it outermost.
   *
   * @param attributes further ones for each span.
   */
  server(attributes?: Readonly<Record<string, string>>): Middleware;
  /**
   * A span of kind `CLIENT` for each request that goes out. Its parent is the span that is active, else what `_meta`
   * says, which then names the new span. Put it innermost, or in the `middleware` of a client.
   *
   * @param attributes further ones for each span: `{ 'server.address': 'mcp.example.com' }`.
   */
  client(attributes?: Readonly<Record<string, string>>): Middleware;
}

/**
 * Makes spans with `@opentelemetry/api`, which is loaded now. Without an SDK that has been set up in the process, no span
 * comes about and `_meta` is passed on as it came. Spans show the method, the tool or prompt, the revision and how it
 * ended; no arguments, no results and no messages of errors, which may quote them.
 *
 * `subscriptions/listen` gets no span, for it lasts as long as its caller.
 *
 * @returns undefined where `@opentelemetry/api` is not installed.
 */
export async function createTracing(): Promise<Tracing | undefined> {
  const api = await load();
  return api && new ApiTracing(api);
}

type Api = typeof OpenTelemetry;

async function load(): Promise<Api | undefined> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** `_meta` as what carries a context (2026-07-28, basic: OpenTelemetry trace context). Nothing is known of its values. */
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

  /** The span that is active where it is not ours to continue: that of an HTTP server, for one. */
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
    // A request that its caller took back has not failed.
    if (outcome === 'tool_error' || outcome === 'error') {
      span.setAttribute('error.type', code === undefined ? outcome : String(code));
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    span.end();
  }

  /** The exchange as what is next sees it: with the new context in place of the one that came. */
  #passedOn(exchange: Exchange, within: Context): Exchange {
    const carrier: JsonObject = {};
    this.#api.propagation.inject(within, carrier, WRITE);
    if (Object.keys(carrier).length === 0) return exchange;
    const meta: unknown = exchange.params['_meta'];
    const kept: JsonObject = isObject(meta) ? { ...meta } : {};
    // The state of a trace is none of another span's parent (W3C Trace Context, section 3.3).
    if (carrier['traceparent'] !== undefined) delete kept['tracestate'];
    return derive(exchange, { params: { ...exchange.params, _meta: { ...kept, ...carrier } } });
  }
}

/** `tools/call add`: what a caller makes up is cut to a length, and is one event, not a series. */
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

/** A URI without what may be secret in it: user, query and fragment. */
function withoutSecrets(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z\d+.-]*:\/\/)[^/@]*@/i, '$1');
}
