import { randomUUID } from 'node:crypto';
import { FewPerTurn } from '../../../../base/few-per-turn.ts';
import { PART_OF_ONE, ShareCounts, shareOf } from '../../../../base/share.ts';
import { shortJson } from '../../../../base/short-text.ts';
import type { OpenedBatch } from '../../../../jsonrpc/batch.ts';
import {
  isRequest,
  isResponse,
  type JsonObject,
  type Message,
  type Request,
  type Response,
} from '../../../../jsonrpc/message.ts';
import { invalidRequest } from '../../../../jsonrpc/parse.ts';
import { stringify } from '../../../../jsonrpc/stringify.ts';
import { saysItsRevision } from '../../../../protocol/own-revision.ts';
import { profileOf } from '../../../../protocol/revisions.ts';
import { EventsPurged, type EventId } from '../../../../store/event-log.ts';
import type { SessionRecord } from '../../../../store/session-store.ts';
import { admitBatch, checkIds, idInUse } from '../../../batches.ts';
import type { HttpCall } from '../call.ts';
import { Endpoint, type BodySession, type EndpointOptions } from '../endpoint.ts';
import { acceptGuard } from '../access/guards.ts';
import type { TableSession } from '../sessions.ts';
import {
  failed,
  methodNotAllowed,
  NO_HEADERS,
  noRoom,
  noSession,
  notAsked,
  notContinued,
  notEnded,
  notPassedOn,
  otherRevision,
  refuse,
  refuseMessage,
  sessionNotFound,
  shuttingDown,
  tooManySessions,
} from '../access/refusals.ts';
import { namesStateless, type StatelessEndpoint } from '../stateless/stateless-endpoint.ts';
import { respondBatch, respondPassed } from './accepted.ts';
import { reopening, type Opening } from './opening.ts';
import { elsewhere, isForAll, type Passed } from './other-processes.ts';
import { resumable, type Resumable } from './session-streams.ts';
import { readRecord, storedIdOf } from './stored-session.ts';
import { STANDALONE } from './stream-ids.ts';
import { StreamableSession } from './streamable-session.ts';

/** The longest session id that is looked up in a store, in characters. */
const MAX_ID = 256;
/** The most requests that wait for a session to be revived, for another process, or for the event log. Each keeps the head of its request. */
const MAX_WAITING = 1000;

const acceptsReply = acceptGuard('application/json', 'text/event-stream');

/** The endpoint of Streamable HTTP: POST, GET and DELETE on one path (2025-11-25, transports: Streamable HTTP). */
export class StreamableEndpoint extends Endpoint {
  readonly #stateless: StatelessEndpoint | undefined;
  /** The requests that wait for a session to be revived, for another process, or for the event log, by their share. */
  readonly #waiting = new ShareCounts();
  #allWaiting = 0;
  /** How many sessions of other processes were continued here. */
  revived = 0;
  /** Lets those that have waited go on. */
  readonly #turns = new FewPerTurn();

  /** @param stateless handles messages of revisions without sessions. Undefined if these are not served. */
  constructor(options: EndpointOptions, stateless: StatelessEndpoint | undefined) {
    super(options);
    this.#stateless = stateless;
  }

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
    if (accept !== undefined && !acceptsReply(accept))
      return refuse(call, 406, 'The client must accept both application/json and text/event-stream');
    const stateless = this.#stateless;
    if (stateless && (!this.options.onsession || namesStateless(call))) {
      return this.readJson(call, undefined, (body) => this.#takeStateless(call, stateless, body));
    }
    if (call.header('mcp-session-id') !== undefined) {
      return this.#inSession(call, (session) =>
        this.readJson(call, this.#failing(session), (body) => this.#take(call, session, body)),
      );
    }
    this.readJson(call, undefined, (body) => {
      if (stateless && isStateless(call, body)) this.#takeStateless(call, stateless, body);
      else this.#take(call, undefined, body);
    });
  }

  /** Takes the failure that a malformed response means. The question may be one of another process. */
  #failing(session: StreamableSession): BodySession {
    return {
      sessionId: session.sessionId,
      deliver: (failure, call) => {
        if (!this.options.others?.fail(session, failure, call.bodyBytes)) session.deliver(failure, call);
      },
    };
  }

  #takeStateless(call: HttpCall, stateless: StatelessEndpoint, body: Message | readonly unknown[]): void {
    if (this.options.closed()) return shuttingDown(call);
    stateless.take(call, body);
  }

  #take(call: HttpCall, session: StreamableSession | undefined, message: Message | readonly unknown[]): void {
    // The session may have ended while the body was read.
    if (session?.closed) return session.refuseLate(call);
    checkIds(message);
    if (!('jsonrpc' in message)) return this.#takeBatch(call, session, message);
    if (isRequest(message)) {
      if (this.options.closed()) return shuttingDown(call);
      if (message.method === 'initialize') {
        if (session) throw invalidRequest('the session is already initialized', message.id);
        const version = call.header('mcp-protocol-version');
        // Only the body says which revision the client offers. But an unknown revision in the header MUST be refused
        // (2025-11-25, transports: Protocol Version Header).
        if (version !== undefined && !profileOf(version))
          throw invalidRequest(`MCP-Protocol-Version ${shortJson(version)} is not supported`, message.id);
        return this.#initialize(call, message);
      }
      if (!session) throw noSession(message.id);
      if (session.inUse(message.id)) throw idInUse(message.id);
      this.options.others?.runs(session, message.id);
      return session.request(call, message);
    }
    if (!session) throw noSession();
    const pass = this.options.others?.passing(session, message, call.bodyBytes);
    if (pass) {
      if (isForAll(message)) session.deliver(message, call);
      return this.#wait(call, pass, (outcome) => respondPassed(call, outcome));
    }
    // A response that the server cannot accept is refused (2025-11-25, transports: Sending Messages, 4).
    if (isStray(message, session)) return refuseMessage(call, 400, notAsked(this.options.shared !== undefined));
    session.deliver(message, call);
    call.respond(202, NO_HEADERS);
  }

  /**
   * Batches: 2025-03-26, transports: Sending Messages, 3; removed in 2025-06-18.
   *
   * @param refused what is already known to be wrong with other elements.
   */
  #takeBatch(
    call: HttpCall,
    session: StreamableSession | undefined,
    elements: readonly unknown[],
    refused: readonly Response[] = [],
  ): void {
    if (!session) throw noSession();
    const batch = admitBatch(elements, { profile: session.profile, inUse: (id) => session.inUse(id) });
    const { requests, errors } = batch;
    errors.push(...refused);
    if (!this.options.scopes.admits(call, batch.messages.filter(isRequest), true)) return;
    if (this.#passBatch(call, session, batch)) return;
    const messages = batch.messages.filter((message) => !isStray(message, session));
    for (let count = messages.length; count < batch.messages.length; count += 1)
      errors.push(notAsked(this.options.shared !== undefined));
    if (requests.length > 0) {
      if (this.options.closed()) return shuttingDown(call);
      for (const id of requests) this.options.others?.runs(session, id);
      return session.batch(call, { messages, requests, errors });
    }
    for (const message of messages) session.deliver(message, call);
    respondBatch(call, errors);
  }

  /** Passes on the messages of a batch that are for other processes, and then goes on with the rest. */
  #passBatch(call: HttpCall, session: StreamableSession, { messages, requests, errors }: OpenedBatch): boolean {
    const { others } = this.options;
    if (!others) return false;
    const own = new Set(requests);
    const rest: Message[] = [];
    const passing: (() => Promise<Passed>)[] = [];
    for (const message of messages) {
      // A cancellation of a request of the same batch is for this process.
      const isOwn = 'method' in message && own.has(message.params?.['requestId']);
      const isHere = isOwn || isRequest(message);
      const pass = isHere ? undefined : others.passing(session, message, stringify(message).length);
      if (!pass) rest.push(message);
      else {
        passing.push(pass);
        if (isForAll(message)) session.deliver(message, call, messages.length);
      }
    }
    if (passing.length === 0) return false;
    const passed = () => Promise.all(passing.map((pass) => pass()));
    this.#wait(call, passed, (outcomes) => {
      const refused = [...errors];
      for (const outcome of outcomes) {
        if (outcome !== 'taken') refused.push(outcome === 'unwanted' ? notAsked(true) : notPassedOn());
      }
      const unreachable = outcomes.includes('unreachable');
      if (rest.length === 0) respondBatch(call, refused, unreachable);
      else if (session.closed) session.refuseLate(call);
      else this.#takeBatch(call, session, rest, refused);
    });
    return true;
  }

  #initialize(call: HttpCall, message: Request): void {
    const id = this.options.seal?.seal(message.params, call.principal) ?? randomUUID();
    this.#open({ id, call, initialize: message, revived: false });
  }

  /** Adds a session and passes it to the application. If there is no room, the call is refused. */
  #open(opening: Opening): StreamableSession | undefined {
    const { call, id } = opening;
    const { sessions, others } = this.options;
    if (!sessions.makeRoom(call)) {
      tooManySessions(call);
      return undefined;
    }
    const session = new StreamableSession(opening, this.options);
    sessions.add(id, session, call);
    others?.add(session);
    this.announce(session, () => session.refuse('The server could not open a session'));
    return session;
  }

  #get(call: HttpCall): void {
    if (!this.takesStream(call)) return;
    this.#inSession(call, (session) => {
      const lastEventId = call.header('last-event-id');
      if (!lastEventId) return this.#listen(call, session, undefined);
      if (session.streams.isOfFormer(lastEventId)) return session.streams.listen(call);
      this.#wait(
        call,
        () => resumable(session.streams, lastEventId),
        (found) => this.#resume(call, session, lastEventId, found),
      );
    });
  }

  /** Answers with the session's own stream. If several processes use the store, this one passes it on from now on. */
  #listen(call: HttpCall, session: StreamableSession, lastEventId: EventId | undefined): void {
    const { own } = session.streams;
    if (!own) return session.streams.listen(call);
    session.checkInitialized(call);
    this.#wait(
      call,
      () => own.claim(lastEventId).catch((error: Error) => (session.closed ? undefined : Promise.reject(error))),
      (stream) => {
        if (session.closed || !stream) session.refuseLate(call);
        else session.streams.listenTo(call, stream, lastEventId);
      },
    );
  }

  #resume(call: HttpCall, session: StreamableSession, lastEventId: EventId, found: Resumable | EventsPurged): void {
    if (session.closed) return session.refuseLate(call);
    if (found instanceof EventsPurged) return refuse(call, 410, found.message);
    const { stream, hasMore } = found;
    if (!stream) return refuse(call, 410, 'The event of Last-Event-ID is no longer stored; send the requests again');
    if (session.streams.own && stream.id === STANDALONE) return this.#listen(call, session, lastEventId);
    if (stream.elsewhere) return session.streams.readElsewhere(call, lastEventId);
    // The stream has ended and the client has received all of it. Otherwise the client would reconnect to an empty
    // stream again and again. This status stops it (HTML, section 9.2.3).
    if (!hasMore && stream.ended) return call.respond(204, { 'content-type': 'text/event-stream' });
    session.streams.resume(call, stream, lastEventId);
  }

  #delete(call: HttpCall): void {
    this.#inSession(call, (session) => {
      this.#endEverywhere(session).then(
        () => call.respond(204, NO_HEADERS),
        (error: unknown) => {
          this.options.onerror(error as Error);
          notEnded(call);
        },
      );
    });
  }

  /** If this fails, the session goes on here, so that its client can send DELETE again. */
  async #endEverywhere(session: StreamableSession): Promise<void> {
    const { store, others } = this.options;
    const { onerror } = session;
    // A connection that reads on may find that its events are gone, which is no error now.
    session.onerror = (error) => void (error instanceof EventsPurged || onerror?.(error));
    try {
      // First, so that no process reads the session from the store after it was told.
      if (store) await store.delete(session.storedId);
      if (others) await others.end(session);
      await session.end();
    } catch (error) {
      session.onerror = onerror;
      throw error;
    }
  }

  /**
   * Goes on with the session that a call names, which may have to be revived first. If the caller has no such session,
   * the call is refused.
   *
   * @throws InvalidMessage if it names none, or another revision.
   */
  #inSession(call: HttpCall, use: (session: StreamableSession) => void): void {
    const id = call.header('mcp-session-id');
    if (id === undefined) throw noSession();
    const { sessions, seal, store, others, closed } = this.options;
    const session = sessions.get(id);
    if (session) return this.#goOn(session, call, use);
    if (!store && !seal) return sessionNotFound(call);
    if (closed()) return this.#passOn(call, id);
    if (!store) return this.#revive(call, use, id, seal!.open(id, call.principal));
    if (id.length > MAX_ID) return sessionNotFound(call);
    const storedId = storedIdOf(id);
    this.#wait(
      call,
      () => readRecord(store, storedId),
      (record) => {
        const opened = sessions.get(id);
        if (opened) return this.#goOn(opened, call, use);
        if (record?.principal !== call.principal || others?.hasEnded(storedId)) return sessionNotFound(call);
        this.#revive(call, use, id, record?.initialize, record);
      },
    );
  }

  /**
   * No session is continued here while the handler drains. But a question of another process may be answered, or its call be
   * cancelled, and many clients would not send that again.
   */
  #passOn(call: HttpCall, id: string): void {
    const { store, others } = this.options;
    if (!store || !others || call.method !== 'POST' || id.length > MAX_ID) return shuttingDown(call);
    const session = elsewhere(storedIdOf(id), call);
    const failing: BodySession = {
      sessionId: id,
      deliver: (failure) => void others.fail(session, failure, call.bodyBytes),
    };
    this.#wait(
      call,
      () => readRecord(store, session.storedId),
      (record) => {
        if (!record || record.principal !== call.principal) return shuttingDown(call);
        this.readJson(call, failing, (message) => {
          const pass = 'jsonrpc' in message && others.passing(session, message, call.bodyBytes);
          if (!pass) return shuttingDown(call);
          this.#wait(call, pass, (outcome) => respondPassed(call, outcome));
        });
      },
    );
  }

  /** @param params of the `initialize` that opened the session. Undefined if they are not known. */
  #revive(
    call: HttpCall,
    use: (session: StreamableSession) => void,
    id: string,
    params: JsonObject | undefined,
    record?: SessionRecord,
  ): void {
    if (!params) return sessionNotFound(call);
    const session = this.#open(reopening(id, params, call, record));
    if (!session) return;
    this.revived += 1;
    this.#goOn(session, call, use);
  }

  #goOn(session: TableSession, call: HttpCall, use: (session: StreamableSession) => void): void {
    // The session of another caller counts as unknown.
    if (!(session instanceof StreamableSession) || session.principal !== call.principal) return sessionNotFound(call);
    const { revival } = session;
    if (!revival) return this.#use(session, call, use);
    this.#wait(
      call,
      () => revival,
      (revived) => {
        // The record of the session is still in the store, so the next request tries again.
        if (revived === 'failed') notContinued(call);
        // A request before this one may have ended it.
        else if (revived === 'open' && !session.closed) this.#use(session, call, use);
        else session.refuseLate(call);
      },
    );
  }

  /**
   * Goes on with a call later, or refuses it if the store fails. The store or the service may be slow, and clients may leave
   * meanwhile, so only some requests can wait.
   */
  #wait<T>(call: HttpCall, start: () => Promise<T>, then: (value: T) => void): void {
    const share = shareOf(call);
    if (this.#allWaiting >= MAX_WAITING || this.#waiting.of(share) >= MAX_WAITING * PART_OF_ONE) return noRoom(call);
    this.#allWaiting += 1;
    this.#waiting.add(share);
    const goOn = (work: () => void): void => {
      this.#allWaiting -= 1;
      this.#waiting.remove(share);
      try {
        work();
      } catch (error) {
        failed(call, error, this.options.onerror);
      }
    };
    start().then(
      (value) => this.#turns.run(() => goOn(() => then(value))),
      (error: unknown) => {
        this.options.onerror(error as Error);
        goOn(() => notContinued(call));
      },
    );
  }

  #use(session: StreamableSession, call: HttpCall, use: (session: StreamableSession) => void): void {
    const version = call.header('mcp-protocol-version');
    if (version !== undefined && !rightVersion(version, session))
      throw otherRevision(version, session.profile?.revision);
    session.lastSeen = performance.now();
    use(session);
  }
}

/** Whether a message answers a question that another process has asked. */
function isStray(message: Message, session: StreamableSession): boolean {
  return isResponse(message) && !session.mayHaveAsked(message.id);
}

/**
 * Since 2025-06-18 the header must name the negotiated revision. Before, any known one is allowed (transports: Protocol
 * Version Header).
 */
function rightVersion(version: string, { profile }: StreamableSession): boolean {
  if (!profile || profile.revision === version) return true;
  return !profile.versionHeader && profileOf(version) !== undefined;
}

/** Whether a message without a session is of a revision without sessions: its body names one, or its header an unknown one. */
function isStateless(call: HttpCall, body: Message | readonly unknown[]): boolean {
  if (saysItsRevision(body)) return true;
  const version = call.header('mcp-protocol-version');
  if (version === undefined || profileOf(version)) return false;
  return 'jsonrpc' in body && !('method' in body && body.method === 'initialize');
}
