import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { readEvents } from '../../interop/sse.ts';
import { initialize, POST_HEADERS } from '../../support/http.ts';
import { ABLE, modernHeaders, modernRequest } from '../../support/modern.ts';

type JsonObject = Record<string, any>;
type Headers = Readonly<Record<string, string>>;

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The messages in it, whether it is JSON or a stream. */
  readonly messages: readonly JsonObject[];
}

interface RawEvent {
  readonly id: string | undefined;
  readonly message: JsonObject;
}

/** An event stream that can be cut. */
export class RawStream {
  readonly response: IncomingMessage;
  readonly #events: AsyncGenerator<Record<string, string>>;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.on('error', () => {});
    this.#events = readEvents(response as never);
  }

  /** The next event with a message. */
  async next(): Promise<RawEvent> {
    for (;;) {
      const { value, done } = await this.#events.next();
      if (done) throw new Error('the stream ended before its message');
      if (value['data']) return { id: value['id'], message: JSON.parse(value['data']) };
    }
  }

  /** The result of the request. It ends the stream. */
  async result(): Promise<JsonObject> {
    for (;;) {
      const { message } = await this.next();
      if ('result' in message) return message['result'];
      if ('error' in message) throw new Error(JSON.stringify(message['error']));
    }
  }

  /** Cuts the connection. */
  cut(): void {
    this.response.destroy();
  }
}

/** A client that sends plain HTTP requests. */
export class RawHttp {
  readonly url: string;
  // Idle connections are closed long before the server closes them, so that no request is lost.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 50, timeout: 10_000 });
  #lastId = 0;

  constructor(url: string) {
    this.url = url;
  }

  async send(method: string, headers: Headers, body?: string | Uint8Array, path?: string): Promise<Reply> {
    const response = await this.#response(method, headers, body, this.#agent, path);
    const received = await text(response);
    const isStream = response.headers['content-type'] === 'text/event-stream';
    const lines = isStream ? received.split('\n').filter((line) => /^data: ./.test(line)) : [];
    const messages = isStream ? lines.map((line) => JSON.parse(line.slice(6))) : received && [JSON.parse(received)];
    return { status: response.statusCode!, headers: response.headers, body: received, messages: messages || [] };
  }

  /** An answer that is read as it arrives, over its own connection. */
  async stream(method: string, headers: Headers, body?: string): Promise<RawStream> {
    return new RawStream(await this.#response(method, headers, body, false));
  }

  /** The message of a call in 2026-07-28. */
  modern(method: string, params: JsonObject, name = 'soak'): { headers: Headers; body: string } {
    const message = modernRequest((this.#lastId += 1), method, params, ABLE);
    message.params!['_meta']['io.modelcontextprotocol/clientInfo'].name = name;
    return { headers: modernHeaders(message), body: JSON.stringify(message) };
  }

  /** The response to a request of 2026-07-28. */
  async ask(method: string, params: JsonObject, name?: string): Promise<JsonObject> {
    const { headers, body } = this.modern(method, params, name);
    return (await this.send('POST', headers, body)).messages.at(-1)!;
  }

  /** Opens a session of 2025-11-25. */
  async open(capabilities: JsonObject = {}): Promise<RawSession> {
    const { headers, status } = await this.send(
      'POST',
      POST_HEADERS,
      JSON.stringify(initialize('2025-11-25', capabilities)),
    );
    if (status !== 200) throw new Error(`no session: ${status}`);
    const session = new RawSession(this, headers['mcp-session-id'] as string);
    await session.send({ method: 'notifications/initialized' });
    return session;
  }

  /** A connection to which the test writes bytes. */
  async socket(): Promise<Socket> {
    const { port, hostname } = new URL(this.url);
    const socket = connect(Number(port), hostname);
    // Tests that care about the end look at it themselves.
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  /** The headers of a POST as text. */
  head(headers: Headers, length: number): string {
    const { host, pathname } = new URL(this.url);
    const lines = Object.entries({ host, ...headers, 'content-length': String(length) }).map((pair) => pair.join(': '));
    return `POST ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  }

  /** Closes the idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  #response(
    method: string,
    headers: Headers,
    body: string | Uint8Array | undefined,
    agent: Agent | false,
    path?: string,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const url = path === undefined ? this.url : new URL(path, this.url);
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = request(url, { method, agent, headers: { ...headers, ...length } });
      sent.on('error', reject).on('response', resolve).end(body);
    });
  }
}

/** A session of 2025-11-25. */
export class RawSession {
  readonly headers: Headers;
  readonly #http: RawHttp;
  #lastId = 0;

  constructor(http: RawHttp, id: string) {
    this.#http = http;
    this.headers = { ...POST_HEADERS, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  }

  send(message: JsonObject): Promise<Reply> {
    return this.#http.send('POST', this.headers, JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** Calls a tool. Resolves with its response. */
  async call(name: string, args: JsonObject = {}): Promise<JsonObject> {
    return (await this.send(this.#callOf(name, args))).messages.at(-1)!;
  }

  /** Calls a tool, and reads the response as it arrives. */
  callStream(name: string, args: JsonObject = {}): Promise<RawStream> {
    return this.#http.stream('POST', this.headers, JSON.stringify(this.#callOf(name, args)));
  }

  /** The session's own stream, or the rest of another stream. */
  listen(lastEventId?: string): Promise<RawStream> {
    const { 'content-type': _, ...headers } = this.headers;
    const from: Headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    return this.#http.stream('GET', { ...headers, accept: 'text/event-stream', ...from });
  }

  /** Ends the session. Resolves with the status. */
  async delete(): Promise<number> {
    return (await this.#http.send('DELETE', this.headers)).status;
  }

  #callOf(name: string, args: JsonObject): JsonObject {
    const id = (this.#lastId += 1);
    const params = { name, arguments: args, _meta: { progressToken: id } };
    return { jsonrpc: '2.0', id, method: 'tools/call', params };
  }
}
