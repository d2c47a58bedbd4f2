import { onTestFinished } from 'vitest';
import type { Service } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import type { HttpHandlerOptions } from '../../src/transport/http/server/handler.ts';
import { createInbound, type Inbound, type InboundOptions } from '../../src/wire/serve.ts';
import { TestHttp } from '../support/http.ts';
import { MODERN, modernRequest } from '../support/modern.ts';

/** A request, independent of the transport. */
export function asked(id: number | string, method: string, params: JsonObject = {}, capabilities = {}): JsonObject {
  return modernRequest(id, method, params, capabilities);
}

/** The headers that mirror a body. */
export function headersOf({ method, params = {} }: JsonObject): Record<string, string> {
  const name: unknown = params['name'] ?? params['uri'];
  return {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
  };
}

export interface ModernHttp {
  readonly http: TestHttp;
  readonly inbound: Inbound;
  /** Posts a body with its headers. A header of undefined is omitted. */
  readonly post: (body: JsonObject, headers?: Record<string, string | undefined>) => Promise<Response>;
  /** Makes a request and returns the messages of the response, from JSON or a stream. */
  readonly call: (...request: Parameters<typeof asked>) => Promise<any>;
}

/** A service over HTTP. It is closed after the test. */
export function modernHttp(
  service: Service,
  options: InboundOptions = {},
  handling: Partial<HttpHandlerOptions> = {},
): ModernHttp {
  const inbound = createInbound(service, options);
  const { onsession, onrequest } = inbound;
  const http = new TestHttp(service, { onsession, onrequest, ...handling });
  onTestFinished(() => inbound.close(0));
  const post: ModernHttp['post'] = (body, headers = {}) => http.post(body, { ...headersOf(body), ...headers });
  return { http, inbound, post, call: async (...request) => lastMessage(await post(asked(...request))) };
}

/** The last message of a response. */
export async function lastMessage(response: Response): Promise<any> {
  const text = await response.text();
  if (response.headers.get('content-type') === 'application/json') return JSON.parse(text);
  const data = [...text.matchAll(/^data: (.+)$/gm)].map(([, json]) => JSON.parse(json!));
  return data.at(-1);
}
