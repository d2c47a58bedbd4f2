import { randomUUID } from 'node:crypto';
import { openBatch } from '../../jsonrpc/batch.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { isRequest, type Message, type RequestId } from '../../jsonrpc/message.ts';
import { InvalidMessage, checkMessage, parseJson } from '../../jsonrpc/parse.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { EventsPurged, type EventLog } from '../../store/event-log.ts';
import { memoryEventLog } from '../../store/memory.ts';
import type { Transport } from '../transport.ts';
import type { HttpCall, HttpHeaders } from './call.ts';
import { OpenConnections } from './connection.ts';
import { GraceLine } from './grace.ts';
import { acceptGuard, hostGuard, mediaType, originGuard, type HostRules } from './guards.ts';
import { SessionTable } from './sessions.ts';
import { SseSession } from './sse-session.ts';
import { StreamableSession } from './streamable-session.ts';

export interface HttpHandlerOptions extends HostRules {
  /**
   * Called with the server's end of each new session: attach to it and start it, for example with `serve`. Where it
   * throws, the session is refused with status 500.
   */
  readonly onsession: (transport: Transport) => void | Promise<void>;
  /** Path of the Streamable HTTP endpoint. Default `/mcp`. */
  readonly path?: string;
  /** Path of the event stream of the 2024-11-05 transport, or false for none. Default `/sse`. */
  readonly ssePath?: string | false;
  /** Where clients of that transport post to. Default `/messages`. */
  readonly messagesPath?: string;
  /** Bytes of one request body. Default 4 MiB; more is answered with 413. */
  readonly maxBodyBytes?: number;
  /** Live sessions; beyond it new ones are refused with 503. Default 10 000. */
  readonly maxSessions?: number;
  /** Milliseconds after which a session without a word or a connection ends. Default 30 minutes. */
  readonly idleTimeout?: number;
  /** Milliseconds between keep-alive comments on open streams; 0 for none. Default 15 000. */
  readonly keepAlive?: number;
  /** Milliseconds after which a reader that takes nothing is cut off; its stream stays resumable. Default 30 000. */
  readonly stallTimeout?: number;
  /** Milliseconds that an answer is waited for before the reply to a POST becomes an event stream. Default 100. */
  readonly grace?: number;
  /** Milliseconds that a client is told to wait before it comes back for a paused stream. Default 1 000. */
  readonly retry?: number;
  /** Milliseconds after which the connection of a stream is ended for the client to come back (2025-11-25); 0 for never, the default. */
  readonly streamDuration?: number;
  /** What keeps the events for resumption. Default: memory, 4 MiB and 10 minutes a session. */
  readonly eventLog?: EventLog;
  /** Hears of what no client can be told. Default: nobody. */
  readonly onerror?: (error: Error) => void;
}

export interface HttpHandler {
  readonly path: string;
  readonly ssePath: string | false;
  /** Milliseconds that a reader may take nothing of an answer before it is cut off. */
  readonly stallTimeout: number;
  /** Live sessions of both transports. */
  readonly sessions: number;
  /** Answers one request. Never throws. */
  handle(call: HttpCall): void;
  /** Ends all sessions and their streams. */
  close(): Promise<void>;
}

const NO_HEADERS: HttpHeaders = {};
const JSON_HEADERS: HttpHeaders = { 'content-type': 'application/json' };
/** The code for what has no JSON-RPC code of its own (implementation-defined range). */
const REFUSED = -32000;

const acceptsReply = acceptGuard('application/json', 'text/event-stream');
const acceptsStream = acceptGuard('text/event-stream');

/**
 * The one handler: Streamable HTTP of every handshake revision at one path, and the HTTP+SSE transport of 2024-11-05
 * beside it. Knows neither sockets nor MCP features.
 */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  return new Handler(options);
}

class Handler implements HttpHandler {
  readonly path: string;
  readonly ssePath: string | false;
  readonly stallTimeout: number;
  readonly #messagesPath: string;
  readonly #options: HttpHandlerOptions;
  readonly #onerror: (error: Error) => void;
  readonly #hostAllowed: (host: string) => boolean;
  readonly #originAllowed: (origin: string) => boolean;
  readonly #maxBodyBytes: number;
  readonly #log: EventLog;
  readonly #connections: OpenConnections;
  readonly #grace: GraceLine;
  readonly #streamable: SessionTable<StreamableSession>;
  readonly #sse: SessionTable<SseSession>;
  #closed = false;

  constructor(options: HttpHandlerOptions) {
    this.#options = options;
    this.path = options.path ?? '/mcp';
    this.ssePath = options.ssePath ?? '/sse';
    this.stallTimeout = options.stallTimeout ?? 30_000;
    this.#messagesPath = options.messagesPath ?? '/messages';
    this.#onerror = options.onerror ?? (() => {});
    this.#hostAllowed = hostGuard(options);
    this.#originAllowed = originGuard(options);
    this.#maxBodyBytes = options.maxBodyBytes ?? 4 * 1024 * 1024;
    this.#log = options.eventLog ?? memoryEventLog();
    this.#connections = new OpenConnections(options.keepAlive ?? 15_000, this.stallTimeout);
    this.#grace = new GraceLine(options.grace ?? 100);
    const table = {
      maxSessions: options.maxSessions ?? 10_000,
      idleTimeout: options.idleTimeout ?? 30 * 60_000,
      onerror: this.#onerror,
    };
    this.#streamable = new SessionTable(table);
    this.#sse = new SessionTable(table);
  }

  get sessions(): number {
    return this.#streamable.size + this.#sse.size;
  }

  handle(call: HttpCall): void {
    try {
      this.#route(call);
    } catch (error) {
      this.#fail(call, error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#streamable.close(), this.#sse.close()]);
  }

  #route(call: HttpCall): void {
    const host = call.header('host');
    if (host === undefined || !this.#hostAllowed(host)) return refuse(call, 403, `Host not allowed: ${host}`);
    const origin = call.header('origin');
    if (origin !== undefined && !this.#originAllowed(origin)) return refuse(call, 403, `Origin not allowed: ${origin}`);
    if (this.#closed) return shuttingDown(call);
    if (call.path === this.path) {
      if (call.method === 'POST') return this.#post(call);
      if (call.method === 'GET') return this.#get(call);
      if (call.method === 'DELETE') return this.#delete(call);
      return refuse(call, 405, 'Method not allowed', { allow: 'GET, POST, DELETE' });
    }
    if (this.ssePath !== false && call.path === this.ssePath) {
      if (call.method === 'GET') return this.#openSse(call);
      return refuse(call, 405, 'Method not allowed', { allow: 'GET' });
    }
    if (this.ssePath !== false && call.path === this.#messagesPath) {
      if (call.method === 'POST') return this.#postMessage(call);
      return refuse(call, 405, 'Method not allowed', { allow: 'POST' });
    }
    refuse(call, 404, `Nothing here; the endpoint is ${this.path}`);
  }

  // Streamable HTTP

  #post(call: HttpCall): void {
    if (!isJson(call.header('content-type'))) return refuse(call, 415, 'Content-Type must be application/json');
    const accept = call.header('accept');
    if (accept !== undefined && !acceptsReply(accept)) {
      return refuse(call, 406, 'The client must accept both application/json and text/event-stream');
    }
    const named = call.header('mcp-session-id') !== undefined;
    const session = this.#session(call);
    if (named && !session) return;
    call.readBody(this.#maxBodyBytes, (body) => {
      try {
        if (!body) return this.#tooLarge(call);
        this.#take(call, session, parseJson(body));
      } catch (error) {
        this.#fail(call, error);
      }
    });
  }

  #take(call: HttpCall, session: StreamableSession | undefined, value: unknown): void {
    // Much may have happened while the body came in.
    if (session?.closed) return sessionNotFound(call);
    if (this.#closed) return shuttingDown(call);
    if (Array.isArray(value)) return this.#takeBatch(call, session, value);
    const message = checkMessage(value);
    if (isRequest(message)) {
      if (message.method === 'initialize') {
        if (session)
          return refuse(
            call,
            400,
            'The session is already initialized',
            NO_HEADERS,
            ErrorCode.InvalidRequest,
            message.id,
          );
        return this.#initialize(call, message);
      }
      if (!session) return noSession(call, message.id);
      if (session.inUse(message.id)) return idInUse(call, message.id);
      return session.request(call, message);
    }
    if (!session) return noSession(call);
    session.deliver(message, call.principal);
    call.respond(202, NO_HEADERS);
  }

  /** Batches: 2025-03-26, transports: Sending Messages, 3; removed in 2025-06-18. */
  #takeBatch(call: HttpCall, session: StreamableSession | undefined, elements: unknown[]): void {
    if (!session) return noSession(call);
    if (!session.profile?.batches) {
      const spoken = session.profile?.revision ?? 'none yet';
      throw new InvalidMessage(
        ErrorCode.InvalidRequest,
        `Invalid request: batches exist only in revision 2025-03-26, this session speaks ${spoken}`,
      );
    }
    const batch = openBatch(elements);
    const { messages, requests, errors } = batch;
    if (messages.some((message) => 'method' in message && message.method === 'initialize')) {
      throw new InvalidMessage(ErrorCode.InvalidRequest, 'Invalid request: initialize must not be part of a batch');
    }
    const used = requests.find((id) => session.inUse(id));
    if (used !== undefined) return idInUse(call, used);
    if (requests.length > 0) return session.batch(call, batch);
    for (const message of messages) session.deliver(message, call.principal);
    if (errors.length > 0) call.respond(400, JSON_HEADERS, JSON.stringify(errors));
    else call.respond(202, NO_HEADERS);
  }

  #initialize(call: HttpCall, message: Extract<Message, { method: string; id: RequestId }>): void {
    if (!this.#streamable.hasRoom(this.#sse.size)) return this.#full(call);
    const session = new StreamableSession(randomUUID(), call.principal, {
      log: this.#log,
      connections: this.#connections,
      grace: this.#grace,
      retry: this.#options.retry ?? 1000,
      streamDuration: this.#options.streamDuration ?? 0,
      onend: (ended) => this.#streamable.delete(ended.sessionId),
    });
    this.#streamable.add(session.sessionId, session);
    session.initialize(call, message);
    this.#announce(session, () => session.refuse('The server could not open a session'));
  }

  #get(call: HttpCall): void {
    const accept = call.header('accept');
    if (accept !== undefined && !acceptsStream(accept))
      return refuse(call, 406, 'The client must accept text/event-stream');
    if (call.header('mcp-session-id') === undefined) return noSession(call);
    const session = this.#session(call);
    if (!session) return;
    const lastEventId = call.header('last-event-id');
    if (!lastEventId) return session.listen(call, undefined, undefined);
    const stream = session.streamOf(lastEventId);
    if (!stream) return refuse(call, 410, 'Last-Event-ID names no event that this session still keeps');
    this.#hasMore(session, lastEventId).then(
      (more) => {
        if (session.closed) return sessionNotFound(call);
        // The stream has ended and the client has had all of it. It would come back to an empty stream for ever; this
        // status tells it not to (HTML, section 9.2.3).
        if (!more && stream.ended) return call.respond(204, { 'content-type': 'text/event-stream' });
        session.listen(call, stream, lastEventId);
      },
      (error: unknown) => (error instanceof EventsPurged ? refuse(call, 410, error.message) : this.#fail(call, error)),
    );
  }

  /** Whether anything comes after the event. Fails where it is not all there any more. */
  async #hasMore(session: StreamableSession, lastEventId: string): Promise<boolean> {
    const events = this.#log.after(session.sessionId, lastEventId)[Symbol.asyncIterator]();
    const { done } = await events.next();
    await events.return?.();
    return done !== true;
  }

  #delete(call: HttpCall): void {
    if (call.header('mcp-session-id') === undefined) return noSession(call);
    const session = this.#session(call);
    if (!session) return;
    session.close().then(
      () => call.respond(204, NO_HEADERS),
      (error: unknown) => this.#fail(call, error),
    );
  }

  /** The session that a call names, and may use. Without one, the call has been refused where it named one. */
  #session(call: HttpCall): StreamableSession | undefined {
    const id = call.header('mcp-session-id');
    if (id === undefined) return undefined;
    const session = this.#streamable.get(id);
    // Someone else's session is as good as none.
    if (!session || session.principal !== call.principal) {
      sessionNotFound(call);
      return undefined;
    }
    const version = call.header('mcp-protocol-version');
    if (version !== undefined && !rightVersion(version, session)) {
      const spoken = session.profile?.revision;
      refuse(
        call,
        400,
        `MCP-Protocol-Version is ${JSON.stringify(version)}, but this session speaks ${spoken}`,
        NO_HEADERS,
        ErrorCode.InvalidRequest,
      );
      return undefined;
    }
    session.lastSeen = Date.now();
    return session;
  }

  // HTTP+SSE

  #openSse(call: HttpCall): void {
    const accept = call.header('accept');
    if (accept !== undefined && !acceptsStream(accept))
      return refuse(call, 406, 'The client must accept text/event-stream');
    if (!this.#sse.hasRoom(this.#streamable.size)) return this.#full(call);
    const session = new SseSession(randomUUID(), call, this.#connections, (ended) => this.#sse.delete(ended.sessionId));
    this.#sse.add(session.sessionId, session);
    session.announce(`${this.#messagesPath}?sessionId=${session.sessionId}`);
    this.#announce(session, () => session.close());
  }

  #postMessage(call: HttpCall): void {
    if (!isJson(call.header('content-type'))) return refuse(call, 415, 'Content-Type must be application/json');
    const id = new URLSearchParams(call.query).get('sessionId');
    if (!id) return refuse(call, 400, 'The query must name a sessionId, as the endpoint event said');
    const session = this.#sse.get(id);
    if (!session || session.principal !== call.principal) return sessionNotFound(call);
    call.readBody(this.#maxBodyBytes, (body) => {
      try {
        if (!body) return this.#tooLarge(call);
        if (!session.connected) return sessionNotFound(call);
        session.receive(parseJson(body));
        call.respond(202, NO_HEADERS);
      } catch (error) {
        this.#fail(call, error);
      }
    });
  }

  // Both

  /** Hands a new session to the application; one that it does not want is closed. */
  #announce(session: Transport, refused: () => Promise<void>): void {
    const fail = (error: unknown): void => {
      this.#onerror(error as Error);
      refused().catch(this.#onerror);
    };
    try {
      Promise.resolve(this.#options.onsession(session)).catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #full(call: HttpCall): void {
    refuse(call, 503, 'Too many sessions', { 'retry-after': '60' });
  }

  #tooLarge(call: HttpCall): void {
    refuse(call, 413, `The body is larger than ${this.#maxBodyBytes} bytes`, { connection: 'close' });
  }

  #fail(call: HttpCall, error: unknown): void {
    if (error instanceof InvalidMessage) {
      return refuse(call, 400, error.message, NO_HEADERS, error.code, error.id);
    }
    this.#onerror(error as Error);
    refuse(call, 500, 'Internal error', NO_HEADERS, ErrorCode.InternalError);
  }
}

function isJson(contentType: string | undefined): boolean {
  return (
    contentType === 'application/json' || (contentType !== undefined && mediaType(contentType) === 'application/json')
  );
}

/** From 2025-06-18 the header must name the negotiated revision; before, one that we know (transports: Protocol Version Header). */
function rightVersion(version: string, { profile }: StreamableSession): boolean {
  if (!profile || profile.revision === version) return true;
  return !profile.versionHeader && profileOf(version) !== undefined;
}

/** An HTTP error whose body is a JSON-RPC error, without an id unless that of the request is known. */
function refuse(
  call: HttpCall,
  status: number,
  message: string,
  headers: HttpHeaders = NO_HEADERS,
  code: number = REFUSED,
  id?: RequestId,
): void {
  const body = JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } });
  call.respond(status, { ...JSON_HEADERS, ...headers }, body);
}

function noSession(call: HttpCall, id?: RequestId): void {
  refuse(
    call,
    400,
    'Mcp-Session-Id is missing: open a session with initialize first',
    NO_HEADERS,
    ErrorCode.InvalidRequest,
    id,
  );
}

function shuttingDown(call: HttpCall): void {
  refuse(call, 503, 'The server is shutting down');
}

function sessionNotFound(call: HttpCall): void {
  refuse(call, 404, 'Session not found: it has ended or never was; open a new one with initialize');
}

function idInUse(call: HttpCall, id: RequestId): void {
  refuse(call, 400, `Request id ${JSON.stringify(id)} is still in use`, NO_HEADERS, ErrorCode.InvalidRequest, id);
}
