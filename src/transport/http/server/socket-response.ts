import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpHeaders } from './call.ts';
import type { Outgoing } from './outgoing.ts';
import type { RequestHead } from './request-parser.ts';

/** How the body of a response is sent. */
type Framing = 'length' | 'chunks' | 'until close' | 'none';

/** The connection of a response. */
export interface ResponseConnection {
  readonly socket: Socket;
  /** The lines that each response has, and that keep the connection open. */
  readonly keepAlive: string;
  /** Whether the connection can serve another request after this response. */
  readonly keepsOpen: boolean;
  /** Called when the kernel has taken the complete response. One function for all responses of the connection. */
  readonly onsent: (error?: Error | null) => void;
  /** Called when a response begins. @param last whether the connection closes after it. */
  onresponse(last: boolean): void;
}

/** The headers that say where a response ends. The server sets them: two that differ would end it at two places. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);
const LAST_CHUNK = '0\r\n\r\n';

/** The response to one request on a connection of our own HTTP server (RFC 9112). */
export class SocketResponse implements Outgoing {
  ondrain: (() => void) | undefined;
  onclose: (() => void) | undefined;
  destroyed = false;
  headersSent = false;
  writableEnded = false;
  readonly mayBeWrapped = false;
  readonly #connection: ResponseConnection;
  readonly #request: RequestHead;
  /** The head, until it is written. */
  #head = '';
  #framing: Framing = 'none';

  constructor(connection: ResponseConnection, request: RequestHead) {
    this.#connection = connection;
    this.#request = request;
  }

  get writableLength(): number {
    return this.#connection.socket.writableLength;
  }

  get writableNeedDrain(): boolean {
    return this.#connection.socket.writableNeedDrain;
  }

  begin(status: number, headers: HttpHeaders, length: number | undefined, last: boolean): void {
    this.headersSent = true;
    const connection = this.#connection;
    const { http11, method } = this.#request;
    const chunks = length === undefined && http11;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    let closes = last || !connection.keepsOpen || (length === undefined && !http11);
    for (const name in headers) {
      const value = headers[name]!;
      const lower = name.toLowerCase();
      if (lower === 'connection') closes ||= value.toLowerCase() === 'close';
      else if (!FRAMING.has(lower)) head += `${name}: ${value}\r\n`;
    }
    if (length !== undefined && status !== 204) head += `content-length: ${length}\r\n`;
    else if (chunks && status !== 204) head += 'transfer-encoding: chunked\r\n';
    head += `date: ${httpDate()}\r\n${closes ? 'connection: close\r\n' : connection.keepAlive}\r\n`;
    this.#head = head;
    if (method === 'HEAD' || status === 204 || status === 304) this.#framing = 'none';
    else this.#framing = length !== undefined ? 'length' : chunks ? 'chunks' : 'until close';
    if (length === undefined) this.#send('', 'latin1');
    connection.onresponse(closes);
  }

  write(data: string | Uint8Array, encoding: 'latin1' | 'utf8' = 'utf8'): boolean {
    if (this.#framing === 'none' || data.length === 0 || this.destroyed) return true;
    if (this.#framing !== 'chunks') return this.#send(data, encoding);
    const size = typeof data === 'string' ? Buffer.byteLength(data, encoding) : data.length;
    const begin = `${size.toString(16)}\r\n`;
    if (typeof data === 'string') return this.#send(`${begin}${data}\r\n`, size === data.length ? 'latin1' : 'utf8');
    this.cork();
    this.#send(begin, 'latin1');
    this.#send(data, encoding);
    const ready = this.#send('\r\n', 'latin1');
    this.#connection.socket.uncork();
    return ready;
  }

  end(data: string | Uint8Array = '', encoding: 'latin1' | 'utf8' = 'utf8'): void {
    if (this.destroyed || this.writableEnded) return;
    const { socket, onsent } = this.#connection;
    this.writableEnded = true;
    if (this.#framing === 'chunks') {
      this.write(data, encoding);
      this.#send(LAST_CHUNK, 'latin1', onsent);
    } else if (this.#framing === 'none') this.#send('', 'latin1', onsent);
    else this.#send(data, encoding, onsent);
    while (socket.writableCorked > 0) socket.uncork();
  }

  cork(): void {
    this.#connection.socket.cork();
  }

  destroy(): void {
    this.#connection.socket.destroy();
  }

  watch(timeout: number): void {
    if (!this.destroyed) this.#connection.socket.setTimeout(timeout);
  }

  /** Called once: the response is complete, or the connection has closed. */
  finish(): void {
    const { onclose } = this;
    this.onclose = this.ondrain = undefined;
    onclose?.();
  }

  /** Writes data, after the head if that was not written. */
  #send(data: string | Uint8Array, encoding: 'latin1' | 'utf8', done?: (error?: Error | null) => void): boolean {
    const { socket } = this.#connection;
    const head = this.#head;
    if (head === '') return socket.write(data, encoding, done);
    this.#head = '';
    if (typeof data === 'string' && encoding === 'latin1') return socket.write(head + data, 'latin1', done);
    socket.cork();
    socket.write(head, 'latin1');
    const ready = socket.write(data, encoding, done);
    socket.uncork();
    return ready;
  }
}

let date = '';
let second = 0;

/** The current time for a Date header. */
function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}
