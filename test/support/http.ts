import { onTestFinished } from 'vitest';
import type { Service } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { fetchListener } from '../../src/transport/http/server/fetch.ts';
import {
  createHttpHandler,
  type HttpHandler,
  type HttpHandlerOptions,
} from '../../src/transport/http/server/handler.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { serve } from '../../src/wire/serve.ts';

const BASE = 'http://localhost';

export interface SentEvent {
  event?: string;
  id?: string;
  data?: string;
  retry?: string;
  comment?: string;
}

type Headers = Record<string, string | undefined>;

/** Reads an event stream as it arrives, field by field, including comments. */
export class Events {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = '';

  constructor(response: Response) {
    this.response = response;
    this.#reader = response.body!.getReader();
  }

  /** The next event, or undefined if the stream has ended. */
  async next(): Promise<SentEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return parseEvent(block);
      }
      const { value, done } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The JSON of the next event that has some. */
  async message(): Promise<any> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error('the stream ended before a message came');
      if (event.data) return JSON.parse(event.data);
    }
  }

  /** All events until the end. */
  async rest(): Promise<SentEvent[]> {
    const events: SentEvent[] = [];
    for (let event = await this.next(); event; event = await this.next()) events.push(event);
    return events;
  }

  /** Closes the connection as a client. */
  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

function parseEvent(block: string): SentEvent {
  const event: SentEvent = {};
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const name = colon === 0 ? 'comment' : line.slice(0, colon);
    event[name as keyof SentEvent] = line.slice(colon + 1).replace(/^ /, '');
  }
  return event;
}

/** The HTTP handler, without a socket. It is closed after the test. */
export class TestHttp {
  readonly handler: HttpHandler;
  readonly errors: Error[] = [];
  readonly fetch: (request: Request, context?: { principal?: string }) => Promise<Response>;

  constructor(service: Service, options: Partial<HttpHandlerOptions> = {}) {
    const onerror = (error: Error): void => void this.errors.push(error);
    const onsession: HttpHandlerOptions['onsession'] = (transport) => serve(service, transport, { onerror });
    this.handler = createHttpHandler({ onsession, onerror, ...options });
    this.fetch = fetchListener(this.handler);
    onTestFinished(() => this.handler.close());
  }

  send(method: string, path: string, headers: Headers = {}, body?: string | Uint8Array): Promise<Response> {
    const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return this.fetch(new Request(BASE + path, { method, headers: present, body: body ?? null }));
  }

  post(body: unknown, headers: Headers = {}): Promise<Response> {
    const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    return this.send('POST', this.handler.path, { ...POST_HEADERS, ...headers }, text);
  }

  /** Opens a session, as a client of the given revision does. */
  async open(revision = '2025-11-25', capabilities: JsonObject = {}, initialized = true): Promise<TestSession> {
    const response = await this.post(initialize(revision, capabilities));
    const id = response.headers.get('mcp-session-id');
    if (id === null) throw new Error(`no session: ${response.status} ${await response.text()}`);
    await response.text();
    const session = new TestSession(this, id, revision);
    if (initialized) await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return session;
  }
}

export const POST_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export function initialize(
  revision = '2025-11-25',
  capabilities: JsonObject = {},
  id: string | number = 'init',
): JsonObject {
  const params = { protocolVersion: revision, capabilities, clientInfo: { name: 'test', version: '1' } };
  return { jsonrpc: '2.0', id, method: 'initialize', params };
}

/** The client's side of one session. */
export class TestSession {
  readonly http: TestHttp;
  readonly id: string;
  readonly headers: Headers;

  constructor(http: TestHttp, id: string, revision: string) {
    this.http = http;
    this.id = id;
    const version = revision >= '2025-06-18' ? revision : undefined;
    this.headers = { 'mcp-session-id': id, 'mcp-protocol-version': version };
  }

  post(body: unknown, headers: Headers = {}): Promise<Response> {
    return this.http.post(body, { ...this.headers, ...headers });
  }

  call(id: string | number, method: string, params?: JsonObject): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method, params });
  }

  notify(method: string, params?: JsonObject): Promise<Response> {
    return this.post({ jsonrpc: '2.0', method, params });
  }

  async get(lastEventId?: string): Promise<Response> {
    const headers = { ...this.headers, accept: 'text/event-stream', 'last-event-id': lastEventId };
    return this.http.send('GET', this.http.handler.path, headers);
  }

  async events(lastEventId?: string): Promise<Events> {
    return new Events(await this.get(lastEventId));
  }

  delete(): Promise<Response> {
    return this.http.send('DELETE', this.http.handler.path, this.headers);
  }
}

export interface RawSession {
  readonly session: TestSession;
  /** The server's end of the session. */
  readonly server: Transport;
  /** The second argument of `onmessage` for each message, by the message's id. */
  readonly extras: Map<unknown, { closeSSEStream?: () => void; closeStandaloneSSEStream?: () => void }>;
}

/** A session whose server end the test controls: only `initialize` is answered. */
export async function openRaw(options: Partial<HttpHandlerOptions> = {}, revision = '2025-11-25'): Promise<RawSession> {
  let server!: Transport;
  const extras: RawSession['extras'] = new Map();
  const http = new TestHttp(() => Promise.reject(new Error('there is no service')), {
    ...options,
    onsession: (transport) => {
      server = transport;
      transport.onmessage = (message, extra) => {
        extras.set(message.id, extra);
        if (message.method !== 'initialize') return;
        const result = { protocolVersion: revision, capabilities: {}, serverInfo: { name: 's', version: '1' } };
        void transport.send({ jsonrpc: '2.0', id: message.id, result });
      };
      return transport.start();
    },
  });
  return { session: await http.open(revision), server, extras };
}
