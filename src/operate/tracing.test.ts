import { context, propagation, trace, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { aborted, scripted } from '../../test/support/service.ts';
import { compose, type Exchange, type Service } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { createTracing, type Tracing } from './tracing.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = '00f067aa0ba902b7';
const meta = {
  traceparent: `00-${TRACE}-${PARENT}-01`,
  tracestate: 'rojo=00f067aa0ba902b7',
  baggage: 'userId=alice',
  'example.com/own': { kept: true },
};

let tracing: Tracing;
beforeEach(async () => {
  tracing = await createTracing();
});

/** A service that returns the `_meta` that it received. */
function seeing(): { service: Service; seen: Exchange[]; metas: () => unknown[] } {
  const { service, seen } = scripted({
    'tools/call': ({ params }) => ({ content: [], isError: params['name'] === 'bad' }),
  });
  return { service, seen, metas: () => seen.map(({ params }) => params['_meta']) };
}

describe('without an SDK', () => {
  test('nothing is changed', async () => {
    const { service, metas } = seeing();
    const exchange = new TestExchange('tools/call', { name: 'add', _meta: meta });
    await compose(service, tracing.server(), tracing.client())(exchange);
    expect(metas()).toEqual([meta]);
  });
});

describe('with an SDK', () => {
  const exporter = new InMemorySpanExporter();

  beforeEach(() => {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(
      new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
    );
  });
  afterEach(() => {
    exporter.reset();
    for (const api of [trace, context, propagation]) api.disable();
  });

  test('the caller’s trace continues through both spans to the server', async () => {
    const { service, metas } = seeing();
    const exchange = new TestExchange(
      'tools/call',
      { name: 'add', _meta: meta },
      { caller: { revision: '2026-07-28' }, headers: {} },
    );
    await compose(service, tracing.server({ 'everwire.server': 'shop' }), tracing.client())(exchange);
    const [client, server] = exporter.getFinishedSpans();
    expect([server!.kind, client!.kind]).toEqual([SpanKind.SERVER, SpanKind.CLIENT]);
    expect([server!.name, client!.name]).toEqual(['tools/call add', 'tools/call add']);
    expect(server!.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: PARENT, isRemote: true });
    expect(client!.parentSpanContext?.spanId).toBe(server!.spanContext().spanId);
    expect(server!.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'add',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'everwire.server': 'shop',
    });
    expect(metas()).toEqual([{ ...meta, traceparent: `00-${TRACE}-${client!.spanContext().spanId}-01` }]);
  });

  test('the trace continues even if the process has no context manager', async () => {
    context.disable();
    const { service } = seeing();
    await compose(
      service,
      tracing.server(),
      tracing.client(),
    )(new TestExchange('tools/list', { _meta: meta })).catch(() => {});
    const [client, server] = exporter.getFinishedSpans();
    expect(client!.parentSpanContext?.spanId).toBe(server!.spanContext().spanId);
    expect(server!.parentSpanContext?.spanId).toBe(PARENT);
  });

  test('a request without a trace starts one, which the server sees', async () => {
    const { service, metas } = seeing();
    await tracing.client()(service)(new TestExchange('tools/call', { name: 'add' }));
    const [span] = exporter.getFinishedSpans();
    const { traceId, spanId } = span!.spanContext();
    expect(metas()).toEqual([{ traceparent: `00-${traceId}-${spanId}-01` }]);
  });

  test('the work of a handler belongs to the span of its request', async () => {
    const { service } = scripted({
      'tools/call': () => trace.getTracer('handler').startActiveSpan('query', (span) => (span.end(), { content: [] })),
    });
    await tracing.server()(service)(new TestExchange('tools/call', { name: 'add' }));
    const [query, server] = exporter.getFinishedSpans();
    expect(query!.parentSpanContext?.spanId).toBe(server!.spanContext().spanId);
  });

  test('the caller’s context is the parent, and the span around the server is linked', async () => {
    const { service } = seeing();
    await trace.getTracer('http').startActiveSpan('POST', async (span) => {
      await tracing.server()(service)(new TestExchange('tools/call', { name: 'add', _meta: meta }));
      span.end();
    });
    const [server, http] = exporter.getFinishedSpans();
    expect(server!.parentSpanContext?.spanId).toBe(PARENT);
    expect(server!.links.map((link) => link.context.spanId)).toEqual([http!.spanContext().spanId]);
  });

  test('the span around the server is the parent if the caller sends no context', async () => {
    const { service } = seeing();
    await trace.getTracer('http').startActiveSpan('POST', async (span) => {
      await tracing.server()(service)(new TestExchange('tools/call', { name: 'add' }));
      span.end();
    });
    const [server, http] = exporter.getFinishedSpans();
    expect(server!.parentSpanContext?.spanId).toBe(http!.spanContext().spanId);
    expect(server!.links).toEqual([]);
  });

  test('the tracestate of another trace is not passed on', async () => {
    const { service, metas } = seeing();
    await trace.getTracer('agent').startActiveSpan('chat', async (span) => {
      await tracing.client()(service)(new TestExchange('tools/call', { name: 'add', _meta: meta }));
      span.end();
    });
    const [client, chat] = exporter.getFinishedSpans();
    expect(client!.parentSpanContext?.spanId).toBe(chat!.spanContext().spanId);
    expect(metas()[0]).not.toHaveProperty('tracestate');
    expect(metas()[0]).toMatchObject({ baggage: 'userId=alice' });
  });

  test.each([
    ['numbers', { traceparent: 7, baggage: { a: 1 } }],
    ['an invalid context', { traceparent: 'zz' }],
    ['a value that is not an object', 'text'],
  ])('_meta that contains %s is ignored', async (_, odd) => {
    const { service } = seeing();
    await tracing.server()(service)(new TestExchange('tools/call', { name: 'add', _meta: odd }));
    expect(exporter.getFinishedSpans()[0]!.parentSpanContext).toBeUndefined();
  });

  test('failures have their code, but no message', async () => {
    const { service } = scripted({
      'tools/call': ({ params }) => {
        if (params['name'] === 'bad') return { content: [{ type: 'text', text: 's3cret' }], isError: true };
        throw new RpcError(-32_602, 's3cret');
      },
    });
    const traced = tracing.server()(service);
    await traced(new TestExchange('tools/call', { name: 'bad', arguments: { key: 's3cret' } }));
    await expect(traced(new TestExchange('tools/call', { name: 'worse' }))).rejects.toThrow('s3cret');
    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ status }) => status)).toEqual([{ code: SpanStatusCode.ERROR }, { code: SpanStatusCode.ERROR }]);
    expect(spans.map(({ attributes }) => [attributes['error.type'], attributes['rpc.response.status_code']])).toEqual([
      ['tool_error', undefined],
      ['-32602', '-32602'],
    ]);
    for (const { attributes, events, status } of spans) {
      expect(JSON.stringify([attributes, events, status])).not.toContain('s3cret');
    }
  });

  test('a cancelled request is not a failure', async () => {
    const { service } = scripted({
      'tools/call': async ({ signal }) => {
        await aborted(signal);
        throw new RpcError(-32_603, 'cancelled');
      },
    });
    const exchange = new TestExchange('tools/call', { name: 'slow' });
    const answer = tracing.server()(service)(exchange);
    exchange.abort();
    await expect(answer).rejects.toThrow('cancelled');
    expect(exporter.getFinishedSpans()[0]!.status.code).toBe(SpanStatusCode.UNSET);
  });

  test('subscriptions have no span, and resource names contain no secrets', async () => {
    const { service } = scripted({ 'subscriptions/listen': () => ({}), 'resources/read': () => ({ contents: [] }) });
    const traced = tracing.server()(service);
    await traced(new TestExchange('subscriptions/listen'));
    await traced(new TestExchange('resources/read', { uri: 'db://ada:pw@host/table?token=s3cret#part' }));
    const [span, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    expect(span!.name).toBe('resources/read');
    expect(span!.attributes['mcp.resource.uri']).toBe('db://host/table');
  });

  test('very long names are cut', async () => {
    const { service } = seeing();
    const long = 'x'.repeat(100_000);
    await tracing.server()(service)(new TestExchange('tools/call', { name: long }));
    await expect(tracing.server()(service)(new TestExchange(long))).rejects.toThrow('Method not found');
    for (const { name, attributes } of exporter.getFinishedSpans()) {
      expect(name.length + JSON.stringify(attributes).length).toBeLessThan(600);
    }
  });
});
