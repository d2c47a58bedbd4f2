import { onTestFinished } from 'vitest';
import type { Service } from '../../src/core/exchange.ts';
import type { JsonObject, Notification, Request, RequestId, Response } from '../../src/jsonrpc/message.ts';
import {
  createHttpHandler,
  type HttpHandler,
  type HttpHandlerOptions,
} from '../../src/transport/http/server/handler.ts';
import { fetchListener, type FetchContext } from '../../src/transport/http/server/fetch.ts';
import type { MessageExtra, ReplyChannel } from '../../src/transport/transport.ts';
import { createInbound, type Inbound, type InboundOptions } from '../../src/wire/serve.ts';
import { encodeHeaderValue } from '../../src/protocol/header-value.ts';
import { POST_HEADERS } from './http.ts';

export const MODERN = '2026-07-28';

/** The `_meta` of each request of 2026-07-28. */
export function meta(capabilities: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...more,
  };
}

/** A client that supports every question. */
export const ABLE: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };

export function modernRequest(
  id: RequestId,
  method: string,
  params: JsonObject = {},
  capabilities?: JsonObject,
): Request {
  const { _meta, ...rest } = params;
  return { jsonrpc: '2.0', id, method, params: { ...rest, _meta: meta(capabilities, _meta) } };
}

/** The headers of a request over HTTP. */
export function modernHeaders({ method, params = {} }: Request | Notification): Record<string, string> {
  const name: unknown = params['name'] ?? params['uri'] ?? params['taskId'];
  return {
    ...POST_HEADERS,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
  };
}

/** The response to one request, and the messages before it. */
export interface Answered {
  readonly response: any;
  readonly notifications: Notification[];
  readonly status: number | undefined;
}

/** A reply channel that the test controls. */
export class TestReply implements ReplyChannel {
  onclose: (() => void) | undefined;
  readonly notifications: Notification[] = [];
  response: Response | undefined;
  status: number | undefined;
  readonly answered: Promise<Answered>;
  #settle!: (answered: Answered) => void;

  constructor() {
    this.answered = new Promise((resolve) => (this.#settle = resolve));
  }

  async notify(message: Notification): Promise<void> {
    JSON.stringify(message);
    this.notifications.push(message);
  }

  answer(response: Response, status?: number): void {
    // Like a real one: a message that JSON cannot represent fails here.
    JSON.stringify(response);
    if (this.response) throw new Error('answered twice');
    this.response = response;
    this.status = status;
    this.#settle({ response, status, notifications: this.notifications });
  }
}

/** A client of 2026-07-28 without a wire. */
export class ModernClient {
  readonly inbound: Inbound;
  readonly errors: Error[] = [];
  #lastId = 0;

  constructor(service: Service, options: InboundOptions = {}) {
    this.inbound = createInbound(service, { onerror: (error) => void this.errors.push(error), ...options });
    onTestFinished(() => this.inbound.close(0));
  }

  /** Sends a request. The test awaits its reply, or cancels it with `onclose`. */
  send(method: string, params: JsonObject = {}, { capabilities = ABLE, ...extra }: SendExtra = {}): TestReply {
    const reply = new TestReply();
    this.inbound.onrequest!(modernRequest(++this.#lastId, method, params, capabilities), extra, reply);
    return reply;
  }

  request(method: string, params?: JsonObject, extra?: SendExtra): Promise<Answered> {
    return this.send(method, params, extra).answered;
  }

  /**
   * The result of a request.
   *
   * @throws Error if it is an error
   */
  async result(method: string, params?: JsonObject, extra?: SendExtra): Promise<JsonObject> {
    const { response } = await this.request(method, params, extra);
    if (!('result' in response)) throw new Error(`${method}: ${JSON.stringify(response.error)}`);
    return response.result;
  }

  /**
   * The error of a request.
   *
   * @throws Error if it is not an error
   */
  async error(method: string, params?: JsonObject, extra?: SendExtra): Promise<JsonObject> {
    const { response } = await this.request(method, params, extra);
    if (!('error' in response)) throw new Error(`${method}: ${JSON.stringify(response.result)}`);
    return response.error;
  }
}

export interface SendExtra extends MessageExtra {
  readonly capabilities?: JsonObject;
}

/** The HTTP handler without a socket, for clients of 2026-07-28. It is closed after the test. */
export class ModernHttp {
  readonly inbound: Inbound;
  readonly handler: HttpHandler;
  readonly errors: Error[] = [];
  readonly fetch: (request: globalThis.Request, context?: FetchContext) => Promise<globalThis.Response>;
  #lastId = 0;

  constructor(service: Service, options: InboundOptions = {}, http: Partial<HttpHandlerOptions> = {}) {
    const onerror = (error: Error): void => void this.errors.push(error);
    this.inbound = createInbound(service, { onerror, ...options });
    const { onsession, onrequest } = this.inbound;
    const handler = (this.handler = createHttpHandler({ onsession, onrequest, onerror, ...http }));
    this.fetch = fetchListener(handler);
    onTestFinished(async () => {
      await this.inbound.close(0);
      await handler.close();
    });
  }

  /** Posts a body unchanged. */
  post(
    body: unknown,
    headers: Record<string, string | undefined> = {},
    context?: FetchContext,
  ): Promise<globalThis.Response> {
    const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.fetch(new Request('http://localhost/mcp', { method: 'POST', headers: present, body: text }), context);
  }

  /** Sends a request as a correct client does. `headers` override the default ones, and undefined omits one. */
  call(
    method: string,
    params?: JsonObject,
    { capabilities = ABLE, headers = {}, context }: CallExtra = {},
  ): Promise<globalThis.Response> {
    const message = modernRequest(++this.#lastId, method, params, capabilities);
    return this.post(message, { ...modernHeaders(message), ...headers }, context);
  }

  /** The status and the JSON of a response that is not a stream. */
  async json(method: string, params?: JsonObject, extra?: CallExtra): Promise<{ status: number; body: any }> {
    const response = await this.call(method, params, extra);
    return { status: response.status, body: await response.json() };
  }
}

export interface CallExtra {
  readonly capabilities?: JsonObject;
  readonly headers?: Record<string, string | undefined>;
  readonly context?: FetchContext;
}
