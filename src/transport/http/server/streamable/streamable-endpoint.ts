import { randomUUID } from 'node:crypto';
import { isObject, isRequest, type Message, type Request } from '../../../../jsonrpc/message.ts';
import { InvalidResponse, checkMessage, invalidRequest } from '../../../../jsonrpc/parse.ts';
import { saysItsRevision } from '../../../../protocol/own-revision.ts';
import { profileOf } from '../../../../protocol/revisions.ts';
import { EventsPurged, type EventId } from '../../../../store/event-log.ts';
import { admitBatch, idInUse } from '../../../batches.ts';
import type { HttpCall } from '../call.ts';
import { Endpoint, type EndpointOptions } from '../endpoint.ts';
import type { ReplyDeadlines } from './reply-deadlines.ts';
import { acceptGuard } from '../access/guards.ts';
import {
  failed,
  JSON_HEADERS,
  methodNotAllowed,
  NO_HEADERS,
  noSession,
  refuse,
  sessionNotFound,
  shuttingDown,
  tooManySessions,
} from '../access/refusals.ts';
import { namesStateless, type StatelessEndpoint } from '../stateless/stateless-endpoint.ts';
import { StreamableSession } from './streamable-session.ts';

export interface StreamableEndpointOptions extends EndpointOptions {
  readonly grace: ReplyDeadlines;
  /** Milliseconds. */
  readonly retry: number;
  /** Milliseconds; 0 for no limit. */
  readonly streamDuration: number;
  /** Handles messages of revisions without sessions. Undefined if these are not served. */
  readonly stateless: StatelessEndpoint | undefined;
}

const acceptsReply = acceptGuard('application/json', 'text/event-stream');

/** The endpoint of Streamable HTTP: POST, GET and DELETE on one path (2025-11-25, transports: Streamable HTTP). */
export class StreamableEndpoint extends Endpoint<StreamableEndpointOptions> {
  handle(call: HttpCall): void {
    if (call.method === 'POST') return this.#post(call);
    if (!this.options.onsession) return methodNotAllowed(call, 'POST');
    if (call.method === 'GET') return this.#get(call);
    if (call.method === 'DELETE') return this.#delete(call);
    methodNotAllowed(call, 'GET, POST, DELETE');
  }

  #post(call: HttpCall): void {
    if (!this.sendsJson(call)) return;
    const accept = call.header('accept');
    if (accept !== undefined && !acceptsReply(accept)) {
      return refuse(call, 406, 'The client must accept both application/json and text/event-stream');
    }
    const { stateless, onsession } = this.options;
    if (stateless && (!onsession || namesStateless(call))) {
      return this.readJson(call, (value) => this.#takeStateless(call, stateless, value));
    }
    const named = call.header('mcp-session-id') !== undefined;
    const session = this.#session(call);
    if (named && !session) return;
    this.readJson(call, (value) => {
      if (stateless && !session && this.#isStateless(call, value)) this.#takeStateless(call, stateless, value);
      else this.#take(call, session, value);
    });
  }

  #takeStateless(call: HttpCall, stateless: StatelessEndpoint, value: unknown): void {
    if (this.options.closed()) return shuttingDown(call);
    stateless.take(call, value);
  }

  /**
   * Whether a message without a session is of a revision without sessions: it says so, or its revision is newer than
   * those known.
   */
  #isStateless(call: HttpCall, value: unknown): boolean {
    if (saysItsRevision(value)) return true;
    const version = call.header('mcp-protocol-version');
    return version !== undefined && !profileOf(version) && isObject(value) && value['method'] !== 'initialize';
  }

  #take(call: HttpCall, session: StreamableSession | undefined, value: unknown): void {
    // The session may have ended while the body was read.
    if (session?.closed) return sessionNotFound(call);
    if (Array.isArray(value)) return this.#takeBatch(call, session, value);
    const message = this.#check(call, session, value);
    if (isRequest(message)) {
      if (this.options.closed()) return shuttingDown(call);
      if (message.method === 'initialize') {
        if (session) throw invalidRequest('the session is already initialized', message.id);
        const version = call.header('mcp-protocol-version');
        // Only the body says which revision the client offers. But an unknown revision in the header MUST be refused
        // (2025-11-25, transports: Protocol Version Header).
        if (version !== undefined && !profileOf(version))
          throw invalidRequest(`MCP-Protocol-Version ${JSON.stringify(version)} is not supported`, message.id);
        return this.#initialize(call, message);
      }
      if (!session) throw noSession(message.id);
      if (session.inUse(message.id)) throw idInUse(message.id);
      return session.request(call, message);
    }
    if (!session) throw noSession();
    session.deliver(message, call);
    call.respond(202, NO_HEADERS);
  }

  /** @throws InvalidMessage if it is refused. The receiver of a malformed response has been told then. */
  #check(call: HttpCall, session: StreamableSession | undefined, value: unknown): Message {
    try {
      return checkMessage(value);
    } catch (error) {
      if (error instanceof InvalidResponse && error.failure) session?.deliver(error.failure, call);
      throw error;
    }
  }

  /** Batches: 2025-03-26, transports: Sending Messages, 3; removed in 2025-06-18. */
  #takeBatch(call: HttpCall, session: StreamableSession | undefined, elements: unknown[]): void {
    if (!session) throw noSession();
    const batch = admitBatch(elements, { profile: session.profile, inUse: (id) => session.inUse(id) });
    const { messages, requests, errors } = batch;
    if (requests.length > 0) return this.options.closed() ? shuttingDown(call) : session.batch(call, batch);
    for (const message of messages) session.deliver(message, call);
    if (errors.length > 0) call.respond(400, JSON_HEADERS, JSON.stringify(errors));
    else call.respond(202, NO_HEADERS);
  }

  #initialize(call: HttpCall, message: Request): void {
    const { sessions, log, connections, grace, retry, streamDuration } = this.options;
    if (!sessions.makeRoom()) return tooManySessions(call);
    const session = new StreamableSession(randomUUID(), call.principal, {
      log,
      connections,
      grace,
      retry,
      streamDuration,
      onend: (ended) => sessions.delete(ended.sessionId),
    });
    sessions.add(session.sessionId, session);
    session.initialize(call, message);
    this.announce(session, () => session.refuse('The server could not open a session'));
  }

  #get(call: HttpCall): void {
    if (!this.takesStream(call)) return;
    if (call.header('mcp-session-id') === undefined) throw noSession();
    const session = this.#session(call);
    if (!session) return;
    const lastEventId = call.header('last-event-id');
    if (!lastEventId) return session.listen(call, undefined, undefined);
    this.#resume(call, session, lastEventId).catch((error: unknown) =>
      error instanceof EventsPurged ? refuse(call, 410, error.message) : failed(call, error, this.options.onerror),
    );
  }

  async #resume(call: HttpCall, session: StreamableSession, lastEventId: EventId): Promise<void> {
    const stream = await session.streamOf(lastEventId);
    if (!stream) return refuse(call, 410, 'Last-Event-ID names no event that this session still keeps');
    const more = await this.#hasMore(session, lastEventId);
    if (session.closed) return sessionNotFound(call);
    // The stream has ended and the client has received all of it. Otherwise the client would reconnect to an empty
    // stream again and again. This status stops it (HTML, section 9.2.3).
    if (!more && stream.ended) return call.respond(204, { 'content-type': 'text/event-stream' });
    session.listen(call, stream, lastEventId);
  }

  /** Whether events follow this one. Fails if the log has dropped some of them. */
  async #hasMore(session: StreamableSession, lastEventId: string): Promise<boolean> {
    const events = this.options.log.after(session.sessionId, lastEventId)[Symbol.asyncIterator]();
    const { done } = await events.next();
    await events.return?.();
    return done !== true;
  }

  #delete(call: HttpCall): void {
    if (call.header('mcp-session-id') === undefined) throw noSession();
    const session = this.#session(call);
    if (!session) return;
    session.close().then(
      () => call.respond(204, NO_HEADERS),
      (error: unknown) => failed(call, error, this.options.onerror),
    );
  }

  /**
   * The session that a call names and may use. Undefined if there is none. The call has been refused then, if it named
   * one.
   */
  #session(call: HttpCall): StreamableSession | undefined {
    const id = call.header('mcp-session-id');
    if (id === undefined) return undefined;
    const session = this.options.sessions.get(id);
    // The session of another caller counts as unknown.
    if (!(session instanceof StreamableSession) || session.principal !== call.principal) {
      sessionNotFound(call);
      return undefined;
    }
    const version = call.header('mcp-protocol-version');
    if (version !== undefined && !rightVersion(version, session)) {
      const spoken = session.profile?.revision;
      throw invalidRequest(`MCP-Protocol-Version is ${JSON.stringify(version)}, but this session speaks ${spoken}`);
    }
    session.lastSeen = Date.now();
    return session;
  }
}

/**
 * Since 2025-06-18 the header must name the negotiated revision. Before, any known one is allowed (transports: Protocol
 * Version Header).
 */
function rightVersion(version: string, { profile }: StreamableSession): boolean {
  if (!profile || profile.revision === version) return true;
  return !profile.versionHeader && profileOf(version) !== undefined;
}
