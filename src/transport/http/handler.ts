import type { AuthInfo } from '../../protocol/types.ts';
import type { EventLog } from '../../store/event-log.ts';
import { memoryEventLog, type MemoryEventLog } from '../../store/memory.ts';
import type { RequestListener, Transport } from '../transport.ts';
import { Admission, type ScopesFor } from './admission.ts';
import { AuthenticatedCall } from './authenticated-call.ts';
import { BufferBudget } from './buffer-budget.ts';
import type { HttpCall, HttpRefusal } from './call.ts';
import { OpenConnections } from './connection.ts';
import { CorsCall } from './cors.ts';
import { respondDocument } from './document.ts';
import type { EndpointOptions } from './endpoint.ts';
import type { Authenticator, AuthRefusal } from './authenticator.ts';
import { GraceLine } from './grace.ts';
import { hostGuard, namedOriginGuard, originGuard, type HostRules } from './guards.ts';
import { failed, NO_HEADERS, refuse, shuttingDown, turnAway, unchecked } from './refusals.ts';
import { SessionTable } from './sessions.ts';
import { SseEndpoint } from './sse-endpoint.ts';
import type { SseSession } from './sse-session.ts';
import { StatelessEndpoint } from './stateless-endpoint.ts';
import { StreamableEndpoint } from './streamable-endpoint.ts';
import type { StreamableSession } from './streamable-session.ts';

/** What is served, at which paths, to whom, and the bounds. */
export interface HttpHandlerOptions extends HostRules {
  /**
   * Called with the server's end of each new session of a handshake revision: attach to it and start it, for example with
   * `serve`. Where it throws, the session is refused with status 500. Without it there are no sessions, and clients of
   * these revisions are turned away.
   */
  readonly onsession?: ((transport: Transport) => void | Promise<void>) | undefined;
  /**
   * Called with each message of a revision that has no sessions (2026-07-28). Without it there is no such revision here.
   * `createInbound` makes this and `onsession` of a service.
   */
  readonly onrequest?: RequestListener | undefined;
  /** Checks credentials: `bearerAuth` or `apiKeyAuth` of `everwire/auth`. Default: none, so anyone may call. */
  readonly auth?: Authenticator | undefined;
  /**
   * The scopes that a request needs. A caller without one of them is refused with 403 before anything is dispatched, and
   * told of all of them. It is asked only of callers of whom something is known, from the authenticator or from a framework before
   * the handler; where neither is there, scopes are not looked at. Default: none are needed.
   */
  readonly scopesFor?: ScopesFor | undefined;
  /** What else is served, by its path: asked for each call that Host and Origin let pass. Goes before the endpoints. */
  readonly pages?: ((path: string) => HttpPage | undefined) | undefined;
  /** Requests without a session that may be in flight, subscriptions among them; beyond it 503. Default 20 000. */
  readonly maxRequests?: number;
  /** Path of the Streamable HTTP endpoint, or `*` for any path, where something in front has chosen. Default `/mcp`. */
  readonly path?: string;
  /** Path of the event stream of the 2024-11-05 transport, or false for none. Default `/sse`. */
  readonly ssePath?: string | false;
  /** Where clients of that transport post to. Default `/messages`. */
  readonly messagesPath?: string;
  /**
   * What stands before these paths in the addresses that clients use, where something in front takes it off: `/api`.
   * HTTP+SSE clients are told an address (2024-11-05, transports: HTTP with SSE). Default none.
   */
  readonly publicPrefix?: string;
  /** Bytes of one request body. Default 4 MiB; more is answered with 413. */
  readonly maxBodyBytes?: number;
  /**
   * Bytes kept in memory for all clients together: unfinished bodies, requests that are being answered, unread answers and
   * events. The default event log gets a quarter of it, and requests may take three eighths. Beyond it the client that has
   * kept the server waiting the longest is cut off, and requests without room are refused with 503. Default 256 MiB.
   */
  readonly maxBufferedBytes?: number;
  /** Live sessions; beyond it new ones are refused with 503. Default 10 000. */
  readonly maxSessions?: number;
  /** Milliseconds after which a session without a word or a connection ends; must be positive. Default 30 minutes. */
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
  /** Stores events for resumption. Default: in memory, 4 MiB and 10 minutes for each session, within `maxBufferedBytes`. */
  readonly eventLog?: EventLog;
  /** Hears of what no client can be told. Default: nobody. */
  readonly onerror?: (error: Error) => void;
  /** Called for each refused request, and for each answer that is broken off because it is not read. Must not throw. */
  readonly onrefusal?: ((refusal: HttpRefusal) => void) | undefined;
}

/** Something that is served beside the endpoints: a status, figures, another handler. */
export interface HttpPage {
  /** Whether the page is for authenticated callers only. Default false: anyone may read it. */
  readonly requiresAuth?: boolean;
  /** Answers one call, of whatever method, also while the handler drains and after it is closed. */
  answer(call: HttpCall): void;
}

/** Answers HTTP requests. */
export interface HttpHandler {
  /** Of the Streamable HTTP endpoint. */
  readonly path: string;
  /** Of the event stream of the 2024-11-05 transport; false where it is off. */
  readonly ssePath: string | false;
  /** Milliseconds that a reader may take nothing of an answer before it is cut off. */
  readonly stallTimeout: number;
  /** Live sessions of both transports. */
  readonly sessions: number;
  /** Event streams that somebody reads now, of every revision. */
  readonly streams: number;
  /** Requests without a session that are being answered, subscriptions among them. */
  readonly requests: number;
  /** Bytes kept in memory for clients now, including the default event log. */
  readonly bufferedBytes: number;
  /** The memory budget for its clients. An adapter that makes an `HttpCall` counts there what it keeps. */
  readonly budget: BufferBudget;
  /** Reports a refusal to `onrefusal`, for adapters that make an `HttpCall`. */
  refused(refusal: HttpRefusal): void;
  /** Stores events for resumption. Handlers that get calls from this one should share it. */
  readonly eventLog: EventLog;
  /** Answers one request. Never throws. */
  handle(call: HttpCall): void;
  /** Takes no more sessions and no more requests from now on; what is being answered goes on, questions included. */
  drain(): void;
  /** Ends all sessions and their streams. */
  close(): Promise<void>;
}

/**
 * The one handler: Streamable HTTP of every revision at one path, with sessions and without, and the HTTP+SSE transport
 * of 2024-11-05 beside it. Knows neither sockets nor MCP features.
 *
 * Where a session is given to a server of the official SDK, the `extra` of its handlers has no `requestInfo` and no
 * `authInfo`: no HTTP headers are passed on. Who the caller is, if `HttpCall.principal` says it, is `extra.principal`
 * of the transport's `onmessage`, which that server does not hand on.
 */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  return new Handler(options);
}

class Handler implements HttpHandler {
  readonly path: string;
  readonly ssePath: string | false;
  readonly stallTimeout: number;
  readonly budget: BufferBudget;
  readonly eventLog: EventLog;
  /** The event log, where none was given. */
  readonly #log: MemoryEventLog | undefined;
  readonly #messagesPath: string;
  readonly #onerror: (error: Error) => void;
  readonly #onrefusal: ((refusal: HttpRefusal) => void) | undefined;
  /** As `onerror`, of an authenticator: what many calls fail with is reported once. */
  readonly #onfailure: (error: Error) => void;
  readonly #hostAllowed: (host: string) => boolean;
  readonly #originAllowed: (origin: string) => boolean;
  /** Undefined where no page may read anything. */
  readonly #originReads: ((origin: string) => boolean) | undefined;
  readonly #authenticator: Authenticator | undefined;
  readonly #pages: (path: string) => HttpPage | undefined;
  readonly #connections: OpenConnections;
  readonly #sessions: SessionTable<StreamableSession | SseSession>;
  readonly #streamable: StreamableEndpoint;
  readonly #sse: SseEndpoint;
  readonly #stateless: StatelessEndpoint | undefined;
  #phase: 'open' | 'draining' | 'closed' = 'open';

  constructor(options: HttpHandlerOptions) {
    checkOptions(options);
    this.path = options.path ?? '/mcp';
    this.ssePath = options.onsession ? (options.ssePath ?? '/sse') : false;
    this.stallTimeout = options.stallTimeout ?? 30_000;
    this.#messagesPath = options.messagesPath ?? '/messages';
    this.#onerror = options.onerror ?? (() => {});
    this.#onrefusal = options.onrefusal;
    const reported = new WeakSet();
    this.#onfailure = (error) => {
      if (reported.has(error)) return;
      if (error instanceof Error) reported.add(error);
      this.#onerror(error);
    };
    this.#hostAllowed = hostGuard(options);
    this.#originAllowed = originGuard(options);
    this.#originReads = namedOriginGuard(options);
    const { auth: authenticator, scopesFor } = options;
    this.#authenticator = authenticator;
    this.#pages = options.pages ?? (() => undefined);
    this.#connections = new OpenConnections(options.keepAlive ?? 15_000, this.stallTimeout);
    this.#sessions = new SessionTable({
      maxSessions: options.maxSessions ?? 10_000,
      idleTimeout: options.idleTimeout ?? 30 * 60_000,
      onerror: this.#onerror,
    });
    const { eventLog, maxBufferedBytes = 256 * 1024 * 1024 } = options;
    const logBytes = eventLog ? 0 : maxBufferedBytes / 4;
    this.budget = new BufferBudget(maxBufferedBytes - logBytes);
    this.eventLog = eventLog ?? (this.#log = memoryEventLog({ maxTotalBytes: logBytes }));
    const shared: EndpointOptions = {
      sessions: this.#sessions,
      connections: this.#connections,
      log: this.eventLog,
      maxBodyBytes: options.maxBodyBytes ?? 4 * 1024 * 1024,
      onsession: options.onsession,
      onerror: this.#onerror,
      admission: authenticator || scopesFor ? new Admission(authenticator, scopesFor) : undefined,
      closed: () => this.#phase !== 'open',
    };
    const grace = new GraceLine(options.grace ?? 100);
    const { onrequest, maxRequests = 20_000 } = options;
    this.#stateless = onrequest && new StatelessEndpoint({ ...shared, grace, onrequest, maxRequests });
    this.#streamable = new StreamableEndpoint({
      ...shared,
      grace,
      stateless: this.#stateless,
      retry: options.retry ?? 1000,
      streamDuration: options.streamDuration ?? 0,
    });
    this.#sse = new SseEndpoint({ ...shared, messagesPath: (options.publicPrefix ?? '') + this.#messagesPath });
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  get streams(): number {
    return this.#connections.size;
  }

  get requests(): number {
    return this.#stateless?.inFlight ?? 0;
  }

  refused(refusal: HttpRefusal): void {
    this.#onrefusal?.(refusal);
  }

  get bufferedBytes(): number {
    return this.budget.bytes + (this.#log?.bytes ?? 0);
  }

  handle(given: HttpCall): void {
    const call = this.#originReads ? this.#readable(given, this.#originReads) : given;
    try {
      this.#route(call);
    } catch (error) {
      failed(call, error, this.#onerror);
    }
  }

  drain(): void {
    if (this.#phase === 'open') this.#phase = 'draining';
  }

  async close(): Promise<void> {
    this.#phase = 'closed';
    await this.#sessions.close();
  }

  #readable(call: HttpCall, reads: (origin: string) => boolean): HttpCall {
    const origin = call.header('origin');
    return origin !== undefined && reads(origin) ? new CorsCall(call, origin) : call;
  }

  #route(call: HttpCall): void {
    const host = call.header('host');
    if (host === undefined || !this.#hostAllowed(host)) {
      return refuse(call, 403, `Host not allowed: ${host}`, NO_HEADERS, 'host', host);
    }
    const authenticator = this.#authenticator;
    // Before the check of the origin: that guards what is private, and where to get a token is for every page to know.
    const document = authenticator?.metadata(call);
    if (document) return respondDocument(call, document);
    const origin = call.header('origin');
    if (origin !== undefined && !this.#originAllowed(origin)) {
      return refuse(call, 403, `Origin not allowed: ${origin}`, NO_HEADERS, 'origin', origin);
    }
    if (call instanceof CorsCall && call.preflight) return call.answerPreflight(authenticator?.credentialHeaders);
    const page = this.#pages(call.path);
    if (page)
      return authenticator && page.requiresAuth
        ? this.#enter(call, authenticator, (admitted) => page.answer(admitted))
        : page.answer(call);
    if (authenticator && this.#serves(call))
      return this.#enter(call, authenticator, (admitted) => this.#dispatch(admitted));
    this.#dispatch(call);
  }

  /** Whether there is anything at the path of a call. Where not, that is no secret, and clients look in many places. */
  #serves(call: HttpCall): boolean {
    return this.path === '*' || call.path === this.path || this.#isSse(call);
  }

  #enter(call: HttpCall, authenticator: Authenticator, goOn: (call: HttpCall) => void): void {
    let outcome: ReturnType<Authenticator['authenticate']>;
    try {
      outcome = authenticator.authenticate(call);
    } catch (error) {
      return unchecked(call, error, this.#onfailure);
    }
    if (!('then' in outcome)) return this.#letIn(call, authenticator, outcome, goOn);
    outcome
      .then(
        (settled) => this.#letIn(call, authenticator, settled, goOn),
        (error: unknown) => unchecked(call, error, this.#onfailure),
      )
      .catch((error: unknown) => failed(call, error, this.#onerror));
  }

  #letIn(
    call: HttpCall,
    authenticator: Authenticator,
    outcome: AuthInfo | AuthRefusal,
    goOn: (call: HttpCall) => void,
  ): void {
    // Nobody reads it; but what stands between us and the client may wait for an answer.
    if (call.gone) return call.respond(400, NO_HEADERS);
    if (!('principal' in outcome)) return turnAway(call, outcome);
    goOn(new AuthenticatedCall(call, outcome, authenticator.credentialHeaders));
  }

  #dispatch(call: HttpCall): void {
    if (this.#phase === 'closed') return shuttingDown(call);
    if (call.path === this.path || (this.path === '*' && !this.#isSse(call))) return this.#streamable.handle(call);
    if (this.ssePath !== false) {
      if (call.path === this.ssePath) return this.#phase === 'open' ? this.#sse.open(call) : shuttingDown(call);
      if (call.path === this.#messagesPath) return this.#sse.post(call);
    }
    refuse(call, 404, `Nothing here; the endpoint is ${this.path}`);
  }

  #isSse({ path }: HttpCall): boolean {
    return this.ssePath !== false && (path === this.ssePath || path === this.#messagesPath);
  }
}

/** @throws RangeError or TypeError for what would not work, or would take a bound away unseen. */
function checkOptions(options: HttpHandlerOptions): void {
  const { path = '/mcp', ssePath = '/sse', messagesPath = '/messages' } = options;
  const paths = ssePath === false ? [path] : [path, ssePath, messagesPath];
  for (const each of paths) {
    if (!each.startsWith('/') && (each !== '*' || each !== path))
      throw new TypeError(`A path must begin with a slash: ${JSON.stringify(each)}`);
  }
  if (new Set(paths).size < paths.length) throw new TypeError(`The paths must differ: ${paths.join(', ')}`);
  if (!options.onsession && !options.onrequest) throw new TypeError('Give onsession, onrequest, or both');
  const { maxBodyBytes, maxBufferedBytes, maxSessions, maxRequests, idleTimeout, stallTimeout } = options;
  const { keepAlive, grace, retry, streamDuration } = options;
  const positive = { maxBodyBytes, maxBufferedBytes, maxSessions, maxRequests, idleTimeout, stallTimeout };
  for (const [name, value] of Object.entries(positive)) {
    if (value !== undefined && !(value > 0)) throw new RangeError(`${name} must be more than 0, not ${value}`);
  }
  for (const [name, value] of Object.entries({ keepAlive, grace, retry, streamDuration })) {
    if (value !== undefined && !(value >= 0)) throw new RangeError(`${name} must be 0 or more, not ${value}`);
  }
}
