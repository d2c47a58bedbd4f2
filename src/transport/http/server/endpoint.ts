import type { ReadTurns } from '../../../base/read-turns.ts';
import { ShareCounts, shareOf } from '../../../base/share.ts';
import { MAX_AT_ONCE } from '../../../base/parsed-at-once.ts';
import { inShortTurns } from '../../../base/short-turns.ts';
import type { EventLog } from '../../../store/event-log.ts';
import type { SessionStore } from '../../../store/session-store.ts';
import { isRequest, type Message } from '../../../jsonrpc/message.ts';
import { checkMessage, InvalidResponse, parseJson } from '../../../jsonrpc/parse.ts';
import type { Transport } from '../../transport.ts';
import type { ScopeCheck } from './access/scope-check.ts';
import type { HttpCall } from './call.ts';
import type { OpenConnections } from './open-connections.ts';
import { acceptGuard, mediaType } from './access/guards.ts';
import { alreadyRead, failed, NO_HEADERS, noRoom, refuse } from './access/refusals.ts';
import type { OtherProcesses } from './streamable/other-processes.ts';
import type { SessionSeal } from './streamable/session-seal.ts';
import type { SessionTable, TableSession } from './sessions.ts';
import type { SharedStore } from './streamable/stream-ids.ts';

export interface EndpointOptions {
  readonly sessions: SessionTable<TableSession>;
  readonly connections: OpenConnections;
  readonly log: EventLog;
  /** Lets those who resume streams read the log. */
  readonly readTurns: ReadTurns;
  /** Keeps sessions for another process. */
  readonly store: SessionStore | undefined;
  /** Set if several processes use the store at once. */
  readonly shared: SharedStore | undefined;
  /** Set if these processes pass messages on to each other. */
  readonly others: OtherProcesses | undefined;
  /** Whether the server tells all processes of changes, so that only the one with a session's own stream sends them. */
  readonly sharesChanges: boolean;
  /** Makes the ids of sessions that another process can revive without a store. */
  readonly seal: SessionSeal | undefined;
  readonly maxBodyBytes: number;
  /** Undefined if sessions are switched off. */
  readonly onsession: ((transport: Transport) => void | Promise<void>) | undefined;
  readonly onerror: (error: Error) => void;
  /** Decides which requests may be dispatched. */
  readonly scopes: ScopeCheck;
  /** Milliseconds to wait for a result before the response to a POST becomes a stream. */
  readonly grace: number;
  /** How long a client is told to wait before it reconnects to a paused stream. Milliseconds. */
  readonly retry: number;
  /**
   * Milliseconds after which the connection of a stream is closed so that the client reconnects (2025-11-25); 0 for
   * never.
   */
  readonly streamDuration: number;
  /** Whether the handler refuses new sessions and requests. */
  readonly closed: () => boolean;
}

const acceptsStream = acceptGuard('text/event-stream');

function isIdentity(encoding: string): boolean {
  return encoding.split(',').every((each) => ['', 'identity'].includes(each.trim().toLowerCase()));
}

/** How many bodies of a session wait for their turns, by its id. Those behind them wait too: a cancellation must not overtake its request. */
const waiting = new ShareCounts();

/** The session that a body is for. */
export interface BodySession {
  readonly sessionId?: string | undefined;
  /** Receives the failure that a malformed response means for a request. */
  deliver(failure: Message, call: HttpCall): void;
}

/**
 * Parses a large body, or takes a batch, in turn with others. Large bodies may become complete on many connections in one turn of
 * the event loop, and each may have two hundred thousand values or a thousand messages.
 */
function inTurnOf(call: HttpCall, id: string | undefined, work: () => void): void | Promise<void> {
  let waits = false;
  const done = inShortTurns(() => {
    if (waits && id !== undefined) waiting.remove(id);
    // The memory for a client that has left is not counted.
    if (waits && call.gone) call.respond(400, NO_HEADERS);
    else work();
  }, shareOf(call));
  waits = done instanceof Promise;
  if (waits && id !== undefined) waiting.add(id);
  return done;
}

/** What all endpoints of a handler share. */
export abstract class Endpoint {
  protected readonly options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.options = options;
  }

  /** Whether the body is uncompressed JSON. If not, the call is refused. */
  protected sendsJson(call: HttpCall): boolean {
    const encoding = call.header('content-encoding');
    if (encoding !== undefined && !isIdentity(encoding)) {
      // RFC 9110, section 12.5.3: the refusal lists the accepted encodings.
      const headers = { 'accept-encoding': 'identity' };
      refuse(call, 415, 'Content-Encoding is not supported; send the body uncompressed', headers);
      return false;
    }
    const contentType = call.header('content-type');
    if (contentType === 'application/json') return true;
    if (contentType !== undefined && mediaType(contentType) === 'application/json') return true;
    refuse(call, 415, 'Content-Type must be application/json');
    return false;
  }

  /** Whether the client accepts an event stream. If not, the call is refused. */
  protected takesStream(call: HttpCall): boolean {
    const accept = call.header('accept');
    if (accept === undefined || acceptsStream(accept)) return true;
    refuse(call, 406, 'The client must accept text/event-stream');
    return false;
  }

  /**
   * Reads a body, and passes on its message, or the unchecked elements of a batch. If the caller may not make the request,
   * or anything fails, the call is answered.
   */
  protected readJson(
    call: HttpCall,
    session: BodySession | undefined,
    take: (body: Message | readonly unknown[]) => void,
  ): void {
    const { maxBodyBytes, scopes, onerror } = this.options;
    call
      .readBody(maxBodyBytes, call.principal === undefined && call.address === undefined ? undefined : shareOf(call))
      .then((body) => {
        if (body === 'too large') {
          const message = `The body is larger than ${maxBodyBytes} bytes`;
          return refuse(call, 413, message, { connection: 'close' }, 'body_size');
        }
        if (body === 'no room') return noRoom(call);
        if (body === 'consumed') return alreadyRead(call, onerror);
        const pass = (value: unknown): void => {
          if (Array.isArray(value)) return take(value);
          const message = checkMessage(value);
          if (!isRequest(message) || scopes.admits(call, [message])) take(message);
        };
        const id = session?.sessionId;
        const waits = body.length > MAX_AT_ONCE || (id !== undefined && waiting.of(id) > 0);
        const value = waits ? undefined : parseJson(body);
        if (value !== undefined && !Array.isArray(value)) return pass(value);
        return inTurnOf(call, id, () => pass(value ?? parseJson(body)));
      })
      .catch((error: unknown) => {
        if (error instanceof InvalidResponse && error.failure) session?.deliver(error.failure, call);
        failed(call, error, onerror);
      });
  }

  /** Passes a new session to the application. If the application does not accept it, the session is refused. */
  protected announce(session: Transport, refused: () => Promise<void>): void {
    const { onsession, onerror } = this.options;
    const fail = (error: unknown): void => {
      onerror(error as Error);
      refused().catch(onerror);
    };
    try {
      Promise.resolve(onsession?.(session)).catch(fail);
    } catch (error) {
      fail(error);
    }
  }
}
