import { post, type HttpCalls } from './http-calls.ts';
import { HttpConnection } from './http-connection.ts';

const REVISION = '2025-11-25';

/** A session of a Streamable HTTP server, opened with the handshake of 2025-11-25. */
export class HttpSession implements HttpCalls {
  readonly url: URL;
  readonly #headers: string;
  readonly #expected: (sum: number) => string;
  // Seven digits, so that all requests have the same length.
  #lastId = 1_000_000;

  private constructor(url: URL, sessionId: string, expected: (sum: number) => string) {
    this.url = url;
    this.#expected = expected;
    this.#headers = `mcp-session-id: ${sessionId}\r\nmcp-protocol-version: ${REVISION}\r\n`;
  }

  /**
   * @param expected a text that a response with this sum contains. Default: the sum as the whole text of the result.
   * @param capabilities of the client.
   * @throws Error if the server refuses, or opens no session
   */
  static async open(
    url: URL,
    connection: HttpConnection,
    expected = (sum: number): string => `"${sum}"`,
    capabilities = {},
  ): Promise<HttpSession> {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const params = { protocolVersion: REVISION, capabilities, clientInfo };
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const { status, head, body } = await connection.request(post(url, '', initialize));
    const sessionId = /\r\nmcp-session-id: *(\S+)/i.exec(head)?.[1];
    if (status !== 200 || sessionId === undefined) throw new Error(`initialize: ${status} ${body}`);
    const session = new HttpSession(url, sessionId, expected);
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const reply = await connection.request(post(url, session.#headers, initialized));
    if (reply.status !== 202) throw new Error(`notifications/initialized: ${reply.status} ${reply.body}`);
    return session;
  }

  /** The bytes of one call of `add`, and a text that its response contains. */
  call(): { request: string; expected: string } {
    const id = ++this.#lastId;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"add","arguments":{"a":${id},"b":1}}}`;
    return { request: this.post(body), expected: this.#expected(id + 1) };
  }

  /** The bytes of a request with a message. */
  post(body: string): string {
    return post(this.url, this.#headers, body);
  }

  /** The bytes of a call of any tool. */
  callOf(tool: string, args: object): string {
    const params = { name: tool, arguments: args };
    return this.post(JSON.stringify({ jsonrpc: '2.0', id: ++this.#lastId, method: 'tools/call', params }));
  }

  /** The bytes of a request for the session's own stream, or for the rest of a stream after an event. */
  get(lastEventId?: string): string {
    const { pathname, host } = this.url;
    const last = lastEventId === undefined ? '' : `last-event-id: ${lastEventId}\r\n`;
    return `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n${this.#headers}${last}\r\n`;
  }

  /** Opens the session's GET stream on a separate connection. */
  async openStream(): Promise<HttpConnection> {
    const connection = new HttpConnection(this.url);
    const { status, head } = await connection.openStream(this.get());
    if (status !== 200) throw new Error(`GET: ${head}`);
    return connection;
  }
}
