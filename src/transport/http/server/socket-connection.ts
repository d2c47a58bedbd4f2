import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Holder } from '../../../base/buffer-budget.ts';
import { errorResponse } from '../../../jsonrpc/message.ts';
import { JSON_HEADERS, REFUSED } from './access/refusal-format.ts';
import type { HttpHandler } from './handler.ts';
import { compact } from '../message-parser.ts';
import { MalformedRequest, RequestParser, type RequestHead, type RequestListener } from './request-parser.ts';
import { SocketCall, type CallConnection } from './socket-call.ts';
import { SocketResponse, type ResponseConnection } from './socket-response.ts';

/** The largest head of a request, in bytes, as in `node:http`. */
const MAX_HEAD = 16 * 1024;
/** If more bytes of the next requests have come while a request is being answered, the socket is not read any more. */
const MAX_AHEAD = 64 * 1024;
/** How many bytes Node may keep for a socket that is not read: it reads 64 KiB at a time until it has 64 KiB. */
const MAX_UNREAD = 128 * 1024;
/** How long the client may take to close a connection after the last response, in milliseconds. */
const CLOSING_TIMEOUT = 2000;
const NOTHING = Buffer.alloc(0);
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** The limits of a client's time. All in milliseconds. */
export interface ConnectionTimeouts {
  /** For the head of a request. */
  readonly head: number;
  /** For a whole request. */
  readonly request: number;
  /** How long a connection without a request is kept. */
  readonly idle: number;
}

/**
 * One connection of a client (RFC 9112). Its requests run one after the other, and the next one is read when the response
 * was sent. This also bounds what a client can request and not read.
 */
export class SocketConnection implements RequestListener, CallConnection, ResponseConnection, Holder {
  held = 0;
  readonly socket: Socket;
  readonly keepAlive: string;
  readonly onsent: (error?: Error | null) => void;
  readonly #handler: HttpHandler;
  readonly #timeouts: ConnectionTimeouts;
  readonly #onclose: (connection: SocketConnection) => void;
  readonly #parser = new RequestParser(MAX_HEAD, this);
  /** The request that is being read or answered. */
  #call: SocketCall | undefined;
  /** Bytes that wait for the current request. */
  #ahead: Buffer = NOTHING;
  #parsing = false;
  /** Whether the response to the current request was sent. */
  #sent = false;
  /** Whether another request can follow the current one. */
  #keepsOpen = true;
  /** Whether the client waits for permission to send the body (RFC 9110, section 10.1.1). */
  #expectsContinue = false;
  /** Whether nothing more is answered: the client shall close the connection. */
  #closing = false;
  /** Whether the connection closes as soon as it is idle. */
  #retired = false;
  /** When the connection became idle, the current request began, or closing began. In milliseconds. */
  #since = performance.now();
  #address: string | undefined;

  /** @param onclose called once when the connection has closed. */
  constructor(
    socket: Socket,
    handler: HttpHandler,
    timeouts: ConnectionTimeouts,
    onclose: (connection: SocketConnection) => void,
  ) {
    this.socket = socket;
    this.#handler = handler;
    this.#timeouts = timeouts;
    this.#onclose = onclose;
    this.keepAlive = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(timeouts.idle / 1000)}\r\n`;
    this.onsent = (error) => {
      if (!error) this.#onsent();
    };
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('drain', () => this.#call?.response.ondrain?.());
    socket.on('end', () => this.#oninputend());
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => this.#close());
  }

  get address(): string | undefined {
    return (this.#address ??= this.socket.remoteAddress);
  }

  /** A client that waits for permission to send the body may send it, or not. So nothing can follow. */
  get keepsOpen(): boolean {
    return this.#keepsOpen && !this.#expectsContinue;
  }

  /** There is no memory for what has been read ahead. */
  cutOff(): void {
    this.socket.destroy();
  }

  /** Serves no request after the current or next one. */
  retire(): void {
    this.#retired = true;
    if (this.#call && this.#sent) this.socket.destroySoon();
  }

  /** Closes the connection if it serves no request. */
  closeIdle(): void {
    if (!this.#call) this.socket.destroySoon();
  }

  /** Disconnects a client that has taken too long. @param now in milliseconds. */
  checkTime(now: number): void {
    const waited = now - this.#since;
    const { head, request, idle } = this.#timeouts;
    if (this.#closing) {
      if (waited > CLOSING_TIMEOUT) this.socket.destroy();
    } else if (this.#call) {
      if (!this.#call.complete && waited > request)
        this.#refuse(`The request was not complete after ${request} ms`, 408);
    } else if (this.#parser.inHead) {
      if (waited > head) this.#refuse(`The head of the request was not complete after ${head} ms`, 408);
    } else if (waited > idle) this.socket.destroy();
  }

  onhead(head: RequestHead): void {
    if (head.http11 && !head.headers.has('host')) throw new MalformedRequest('it has no Host header');
    const expected = head.headers.get('expect')?.toLowerCase();
    if (expected !== undefined && expected !== '100-continue') {
      throw new MalformedRequest('it expects something else than 100-continue', 417);
    }
    this.#expectsContinue = expected !== undefined && head.http11;
    this.#keepsOpen = head.keepsOpen;
    this.#sent = false;
    this.#call = new SocketCall(this, head, new SocketResponse(this, head), this.#handler);
    this.#handler.handle(this.#call);
  }

  ondata(bytes: Uint8Array): void {
    this.#expectsContinue = false;
    this.#call!.ondata(bytes);
  }

  onend(): void {
    this.#expectsContinue = false;
    this.#call!.onend();
    if (this.#sent) this.#finish();
  }

  onbody(): void {
    if (this.#expectsContinue && !this.#call!.response.headersSent) this.socket.write(CONTINUE, 'latin1');
    this.#expectsContinue = false;
    this.#parse();
  }

  onresponse(last: boolean): void {
    if (last) this.#keepsOpen = false;
    this.#parse();
  }

  #onsent(): void {
    const call = this.#call;
    if (!call) return;
    if (this.socket.timeout) this.socket.setTimeout(0);
    call.response.finish();
    this.#sent = true;
    // The rest of a request that nobody wants is read and dropped.
    if (call.complete || !this.keepsOpen) this.#finish();
    else this.#parse();
  }

  /** The current request is answered. */
  #finish(): void {
    this.#call = undefined;
    this.#since = performance.now();
    if (this.#retired) this.socket.destroySoon();
    else if (!this.keepsOpen) this.#end();
    else if (this.#ahead.length === 0) this.#parse();
    // Otherwise a hundred requests that came together, each with a large response, would run before anything else.
    else setImmediate(() => this.#parse());
  }

  /** Ends the connection. Destroying it while the client sends could take the response away from it. */
  #end(text = ''): void {
    this.#closing = true;
    this.#since = performance.now();
    this.#ahead = NOTHING;
    this.#handler.budget.hold(this, 0);
    this.socket.end(text, 'latin1');
    this.socket.resume();
  }

  #read(bytes: Buffer): void {
    if (this.#closing) return;
    this.#ahead = this.#ahead.length > 0 ? Buffer.concat([this.#ahead, bytes]) : bytes;
    this.#parse();
  }

  #parse(): void {
    if (this.#parsing) return;
    this.#parsing = true;
    try {
      while (this.#ahead.length > 0 && this.#reads) {
        if (!this.#call && !this.#parser.inHead) this.#since = performance.now();
        this.#ahead = this.#parser.push(this.#ahead);
      }
    } catch (error) {
      this.#ahead = NOTHING;
      if (!(error instanceof MalformedRequest)) throw error;
      this.#refuse(error.message, error.status);
    } finally {
      this.#parsing = false;
    }
    this.#ahead = compact(this.#ahead);
    const full = this.#ahead.length > MAX_AHEAD;
    const held = full ? this.#ahead.length + MAX_UNREAD : this.#ahead.length;
    if (held !== this.held) this.#handler.budget.hold(this, held);
    if (full) this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
  }

  /** Whether the next bytes can be read now. */
  get #reads(): boolean {
    const call = this.#call;
    return !this.#closing && (!call || (!call.complete && call.takesBody));
  }

  /** Refuses a request that cannot be read, and with it the connection. */
  #refuse(message: string, status: number): void {
    const call = this.#call;
    const isBegun = call?.response.headersSent === true;
    this.#call = undefined;
    call?.close();
    this.#handler.refused({ reason: 'malformed', status });
    if (isBegun || !this.socket.writable) {
      this.socket.destroy();
      return;
    }
    const body = JSON.stringify(errorResponse(undefined, { code: REFUSED, message }));
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${JSON_HEADERS['content-type']}\r\n`;
    this.#end(`${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
  }

  /** The client sends nothing more. It counts as disconnected, unless its last response is only waiting to be taken. */
  #oninputend(): void {
    this.#keepsOpen = false;
    this.#ahead = NOTHING;
    if (this.#call && !this.#call.response.writableEnded) this.socket.destroy();
  }

  #close(): void {
    const call = this.#call;
    this.#call = undefined;
    this.#closing = true;
    this.#ahead = NOTHING;
    this.#handler.budget.hold(this, 0);
    call?.close();
    this.#onclose(this);
  }
}
