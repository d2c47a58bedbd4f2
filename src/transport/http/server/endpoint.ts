import type { EventLog } from '../../../store/event-log.ts';
import { parseJson } from '../../../jsonrpc/parse.ts';
import type { Transport } from '../../transport.ts';
import type { ScopeCheck } from './access/scope-check.ts';
import type { HttpCall } from './call.ts';
import type { OpenConnections } from './connection.ts';
import { acceptGuard, mediaType } from './access/guards.ts';
import { failed, noRoom, refuse } from './access/refusals.ts';
import type { SessionTable } from './sessions.ts';
import type { SseSession } from './sse/sse-session.ts';
import type { StreamableSession } from './streamable/streamable-session.ts';

export interface EndpointOptions {
  readonly sessions: SessionTable<StreamableSession | SseSession>;
  readonly connections: OpenConnections;
  readonly log: EventLog;
  readonly maxBodyBytes: number;
  /** Undefined if sessions are switched off. */
  readonly onsession: ((transport: Transport) => void | Promise<void>) | undefined;
  readonly onerror: (error: Error) => void;
  /** Decides which requests may be dispatched. */
  readonly admission: ScopeCheck;
  /** Whether the handler refuses new sessions and requests. */
  readonly closed: () => boolean;
}

const acceptsStream = acceptGuard('text/event-stream');

function isIdentity(encoding: string): boolean {
  return encoding.split(',').every((each) => ['', 'identity'].includes(each.trim().toLowerCase()));
}

/** What all endpoints of a handler share. */
export abstract class Endpoint<Options extends EndpointOptions = EndpointOptions> {
  protected readonly options: Options;

  constructor(options: Options) {
    this.options = options;
  }

  /** Whether the body is uncompressed JSON. If not, the call is refused. */
  protected sendsJson(call: HttpCall): boolean {
    const encoding = call.header('content-encoding');
    if (encoding !== undefined && !isIdentity(encoding)) {
      // RFC 9110, section 12.5.3: the refusal lists the accepted encodings.
      const headers = { 'accept-encoding': 'identity' };
      refuse(call, 415, 'Content-Encoding is not supported; send the body as it is, not compressed', headers);
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
   * Reads a body and passes its value on if the caller may make these requests. If that is refused or fails, the call
   * is answered.
   */
  protected readJson(call: HttpCall, take: (value: unknown) => void): void {
    const { maxBodyBytes, admission, onerror } = this.options;
    const fail = (error: unknown): void => failed(call, error, onerror);
    call
      .readBody(maxBodyBytes)
      .then((body) => {
        if (body === 'too large') {
          const message = `The body is larger than ${maxBodyBytes} bytes`;
          return refuse(call, 413, message, { connection: 'close' }, 'body_size');
        }
        if (body === 'no room') return noRoom(call);
        const value = parseJson(body);
        if (admission.admits(call, value)) take(value);
      })
      .catch(fail);
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
