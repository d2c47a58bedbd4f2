import { guarded, reportTo } from '../../../jsonrpc/stderr-report.ts';
import { isPrincipal } from '../../../base/principal.ts';
import type { AuthInfo } from '../../../protocol/types.ts';
import { memoryEventLog, type MemoryEventLog } from '../../../store/memory.ts';
import { reachOf } from '../../../store/bus.ts';
import type { State } from '../../../store/state.ts';
import type { RequestListener, Transport } from '../../transport.ts';
import { ScopeCheck, type ScopesFor } from './access/scope-check.ts';
import { AuthenticatedCall } from './access/authenticated-call.ts';
import { BufferBudget } from '../../../base/buffer-budget.ts';
import { ReadTurns } from '../../../base/read-turns.ts';
import { quoting } from '../../../base/short-text.ts';
import type { HttpCall, HttpRefusal } from './call.ts';
import { OpenConnections } from './open-connections.ts';
import { CorsCall } from './access/cors.ts';
import { respondDocument } from './document.ts';
import type { EndpointOptions } from './endpoint.ts';
import { checkOutcome, type Authenticator, type AuthRefusal } from './access/authenticator.ts';
import { hostGuard, namedOriginGuard, originGuard, type HostRules } from './access/guards.ts';
import { reported } from './access/refusal-format.ts';
import { failed, NO_HEADERS, NO_PRINCIPAL, refuse, shuttingDown, unchecked } from './access/refusals.ts';
import { SessionTable, type TableSession } from './sessions.ts';
import { PassedPosts } from './sse/passed-posts.ts';
import { SseEndpoint } from './sse/sse-endpoint.ts';
import { StatelessEndpoint } from './stateless/stateless-endpoint.ts';
import { OtherProcesses } from './streamable/other-processes.ts';
import { SessionSeal } from './streamable/session-seal.ts';
import { StreamableEndpoint } from './streamable/streamable-endpoint.ts';

const MIB = 1024 * 1024;

/** What the handler serves, at which paths and to whom, and its limits. */
export interface HttpHandlerOptions extends HostRules {
  /**
   * Called with the transport of each new session of a handshake revision. Attach to it and start it, for example with
   * `serve`. If it throws, the session is refused with status 500. Without it, clients of these revisions are refused.
   */
  readonly onsession?: ((transport: Transport) => void | Promise<void>) | undefined;
  /**
   * Called with each message of a revision without sessions (2026-07-28). Without it, these revisions are not served.
   * `createInbound` makes this and `onsession` from a service.
   */
  readonly onrequest?: RequestListener | undefined;
  /** Checks credentials: `bearerAuth` or `apiKeyAuth` of `everwire/auth`. Default: none, so anyone may call. */
  readonly auth?: Authenticator | undefined;
  /**
   * The scopes that a request needs. If a caller lacks one, the request is refused with 403, which names all of them,
   * before anything is dispatched. Called only if the authenticator, or a framework in front of the handler, has
   * identified the caller. Other requests need no scopes. Default: none.
   */
  readonly scopesFor?: ScopesFor | undefined;
  /** Other pages by their path, looked up before the endpoints for each call with an allowed Host and Origin. */
  readonly pages?: ((path: string) => HttpPage | undefined) | undefined;
  /**
   * The most requests in flight that have no session, subscriptions included. Further ones are refused with 503.
   * Default 20 000. One principal may have seven eighths of them. Without authentication, an address counts as a
   * principal.
   */
  readonly maxRequests?: number | undefined;
  /**
   * Path of the Streamable HTTP endpoint. `*` is for any path outside `/.well-known/`, where a router in front decides.
   * Default `/mcp`.
   */
  readonly path?: string | undefined;
  /** Path of the event stream of the 2024-11-05 transport, or false for none. Default `/sse`. */
  readonly ssePath?: string | false | undefined;
  /** Path that HTTP+SSE clients post their messages to. Default `/messages`. */
  readonly messagesPath?: string | undefined;
  /**
   * The part of the path, such as `/api`, that a proxy or router in front removes. HTTP+SSE clients are
   * told the path to post to (2024-11-05, transports: HTTP with SSE), which must include this part. Default none.
   */
  readonly publicPrefix?: string | undefined;
  /** Bytes of one request body. Default 4 MiB; more is answered with 413. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Bytes kept in memory for all clients together: unfinished bodies, requests in progress, unread responses and events.
   * The default event log gets a quarter of it, and requests may take three eighths. Beyond it the client that has kept the
   * server waiting the longest is disconnected, and requests without room are refused with 503. Default 256 MiB.
   */
  readonly maxBufferedBytes?: number | undefined;
  /**
   * The most sessions; further ones are refused with 503. Default 10 000. One principal may have all of them. If it has
   * more than half, it loses the session that was silent the longest when another principal needs one. Without
   * authentication, an address counts as a principal.
   */
  readonly maxSessions?: number | undefined;
  /** Milliseconds after which a session without messages and connections ends; must be positive. Default 30 minutes. */
  readonly idleTimeout?: number | undefined;
  /**
   * A secret of at least 16 bytes. With it, the id of a session says, encrypted, how the session was opened. Another
   * process with the same key revives the session when its client continues, for example after a restart. The id is
   * valid for 24 hours, and only for the principal that opened the session. Use it only if `onsession` keeps nothing
   * for a session except what `initialize` said. A `state` with sessions is used instead of the key. Default: sessions end
   * with the process.
   */
  readonly sessionKey?: string | Uint8Array | undefined;
  /** Milliseconds between keep-alive comments on open streams; 0 for none. Default 15 000. */
  readonly keepAlive?: number | undefined;
  /** Milliseconds after which a client that reads nothing is disconnected; its stream stays resumable. Default 30 000. */
  readonly stallTimeout?: number | undefined;
  /** Milliseconds to wait for a result before the response to a POST becomes an event stream. Default 100. */
  readonly grace?: number | undefined;
  /** Milliseconds that a client is told to wait before it resumes a stream. Default 1 000. */
  readonly retry?: number | undefined;
  /** Milliseconds after which a stream is closed for the client to resume it (2025-11-25); 0 for never. Default 0. */
  readonly streamDuration?: number | undefined;
  /**
   * Keeps sessions, and the events of their streams for resumption: `embeddedState` of `everwire/store`. Sessions then
   * survive a restart. With `events` alone, only these are kept there. Default: events in memory, 4 MiB and 10 minutes for
   * each session, within `maxBufferedBytes`; sessions end with the process.
   */
  readonly state?: HandlerState | undefined;
  /**
   * Whether the service sends each change of a list or a resource at all processes with the same state, as an `McpServer`
   * does. Then the client gets it only from the process where it reads the session's own stream, and so only once. Default
   * false: the client gets what any process sends.
   */
  readonly sharesChanges?: boolean | undefined;
  /** Called with errors that cannot be reported to a client. Default: none. */
  readonly onerror?: ((error: Error) => void) | undefined;
  /** Called for each refused request, and for each response that is cut off because it is not read. What it throws goes to `onerror`. */
  readonly onrefusal?: ((refusal: HttpRefusal) => void) | undefined;
}

/** A `State`, or only its events. An `McpServer` also keeps its tasks there. */
export type HandlerState = Pick<State, 'events'> & Partial<State>;

/** A page beside the endpoints: a status page, metrics, another handler. */
export interface HttpPage {
  /** Whether the page is for authenticated callers only. Default false: anyone may read it. */
  readonly requiresAuth?: boolean | undefined;
  /** Answers one call of any method, also while the handler drains and after it is closed. */
  answer(call: HttpCall): void;
}

/** Answers HTTP requests. */
export interface HttpHandler {
  /** Path of the Streamable HTTP endpoint. */
  readonly path: string;
  /** Path of the event stream of the 2024-11-05 transport; false if it is off. */
  readonly ssePath: string | false;
  /** Milliseconds after which a client that reads nothing is disconnected. */
  readonly stallTimeout: number;
  /** Live sessions of both transports. */
  readonly sessions: number;
  /** Event streams with a connected client, of every revision. */
  readonly streams: number;
  /** Requests in progress that have no session, subscriptions included. */
  readonly requests: number;
  /** Whether new sessions and requests are refused: `drain` or `close` was called. */
  readonly draining: boolean;
  /** How many sessions of other processes this one has continued. */
  readonly revived: number;
  /** How many own streams of sessions this process has taken over from others, because their clients read them here. */
  readonly takenOver: number;
  /** Bytes kept in memory for clients now, including the default event log. */
  readonly bufferedBytes: number;
  /** The memory budget for all clients. An adapter that makes an `HttpCall` counts the bytes it keeps there. */
  readonly budget: BufferBudget;
  /** Reports a refusal to `onrefusal`, for adapters that make an `HttpCall`. */
  refused(refusal: HttpRefusal): void;
  /** Where sessions and events are kept. Handlers that get calls from this one should share it. */
  readonly state: HandlerState;
  /** Answers one request. Never throws. */
  handle(call: HttpCall): void;
  /** Refuses new sessions and requests from now on. Requests in progress go on, and may still ask the client. */
  drain(): void;
  /** Ends all sessions and their streams. */
  close(): Promise<void>;
}

/**
 * Creates a handler for Streamable HTTP of every revision at one path, with and without sessions, and for the HTTP+SSE
 * transport of 2024-11-05. It knows neither sockets nor MCP features.
 *
 * If a server of the official SDK serves a session, the `extra` of its handlers has no `requestInfo` and no `authInfo`,
 * because HTTP headers are not passed on. The transport's `onmessage` gets the caller's principal in `extra.principal`,
 * but that server does not pass it on either.
 *
 * @throws RangeError or TypeError for options that cannot work.
 */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  return new Handler(options);
}

class Handler implements HttpHandler {
  readonly path: string;
  readonly ssePath: string | false;
  readonly stallTimeout: number;
  readonly budget: BufferBudget;
  readonly state: HandlerState;
  /** The event log, if none was given. */
  readonly #log: MemoryEventLog | undefined;
  readonly #messagesPath: string;
  readonly #onerror: (error: Error) => void;
  readonly #onrefusal: (refusal: HttpRefusal) => void;
  readonly #hostAllowed: (host: string) => boolean;
  readonly #originAllowed: (origin: string) => boolean;
  /** Whether pages of an origin may read the responses. */
  readonly #originReads: (origin: string) => boolean;
  readonly #authenticator: Authenticator | undefined;
  readonly #pages: (path: string) => HttpPage | undefined;
  /** Errors of the authenticator that were already reported. An error that many calls fail with is reported once. */
  readonly #reported = new WeakSet();
  readonly #connections: OpenConnections;
  readonly #sessions: SessionTable<TableSession>;
  readonly #others: OtherProcesses | undefined;
  readonly #passed: PassedPosts | undefined;
  readonly #streamable: StreamableEndpoint;
  readonly #sse: SseEndpoint;
  readonly #stateless: StatelessEndpoint | undefined;
  /** Whether new sessions and requests are accepted. */
  #open = true;
  #closed = false;

  constructor(options: HttpHandlerOptions) {
    const { onsession, onrequest, auth, scopesFor, pages = () => undefined } = options;
    const { path = '/mcp', ssePath = '/sse', messagesPath = '/messages', publicPrefix = '' } = options;
    const { maxBodyBytes = 4 * MIB, maxBufferedBytes = 256 * MIB } = options;
    const { maxSessions = 10_000, maxRequests = 20_000, idleTimeout = 1_800_000, stallTimeout = 30_000 } = options;
    const { keepAlive = 15_000, grace = 100, retry = 1000, streamDuration = 0, sharesChanges = false } = options;
    if (!onsession && !onrequest) throw new TypeError('Set onsession, onrequest or both');
    checkPaths(ssePath === false ? [path] : [path, ssePath, messagesPath]);
    const positive = { maxBodyBytes, maxBufferedBytes, maxSessions, maxRequests, idleTimeout, stallTimeout };
    for (const [name, value] of Object.entries(positive)) {
      if (!(value > 0)) throw new RangeError(`${name} must be more than 0, not ${value}`);
    }
    for (const [name, value] of Object.entries({ keepAlive, grace, retry, streamDuration })) {
      if (!(value >= 0)) throw new RangeError(`${name} must be 0 or more, not ${value}`);
    }
    const { state, sessionKey, onrefusal } = options;
    const onerror = reportTo(options.onerror);
    this.path = path;
    this.ssePath = onsession ? ssePath : false;
    this.stallTimeout = stallTimeout;
    this.#messagesPath = messagesPath;
    this.#onerror = onerror;
    this.#onrefusal = guarded(onrefusal, onerror);
    this.#hostAllowed = hostGuard(options);
    this.#originAllowed = originGuard(options);
    this.#originReads = namedOriginGuard(options);
    this.#authenticator = auth;
    this.#pages = pages;
    this.#connections = new OpenConnections(keepAlive, stallTimeout);
    const store = state?.sessions;
    const ontouch = store && ((used: readonly string[]): Promise<void> => store.touch(used));
    this.#sessions = new SessionTable({ maxSessions, idleTimeout, ontouch, onerror });
    const logBytes = state ? 0 : maxBufferedBytes / 4;
    this.budget = new BufferBudget(maxBufferedBytes - logBytes);
    this.state = state ?? { events: (this.#log = memoryEventLog({ maxTotalBytes: logBytes })) };
    const { node, isAlive } = this.state;
    const reach = reachOf(this.state);
    this.#others = store && reach && new OtherProcesses(reach.bus, reach.node, onerror);
    const shared: EndpointOptions = {
      sessions: this.#sessions,
      connections: this.#connections,
      log: this.state.events,
      readTurns: new ReadTurns(),
      store,
      shared: store && node !== undefined && isAlive ? { node, isAlive } : undefined,
      others: this.#others,
      sharesChanges,
      seal: sessionKey === undefined || store ? undefined : new SessionSeal(sessionKey),
      maxBodyBytes,
      onsession,
      onerror,
      scopes: new ScopeCheck(auth, scopesFor),
      grace,
      retry,
      streamDuration,
      closed: () => !this.#open,
    };
    this.#stateless = onrequest && new StatelessEndpoint(shared, onrequest, maxRequests);
    this.#streamable = new StreamableEndpoint(shared, this.#stateless);
    this.#passed = reach && this.ssePath !== false ? new PassedPosts(reach, this.#sessions, onerror) : undefined;
    this.#sse = new SseEndpoint(shared, publicPrefix + messagesPath, this.#passed);
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

  get revived(): number {
    return this.#streamable.revived;
  }

  get takenOver(): number {
    return this.#others?.takenOver ?? 0;
  }

  get draining(): boolean {
    return !this.#open;
  }

  refused(refusal: HttpRefusal): void {
    this.#onrefusal(refusal);
  }

  get bufferedBytes(): number {
    return this.budget.bytes + (this.#log?.bytes ?? 0);
  }

  handle(given: HttpCall): void {
    const origin = given.header('origin');
    const call = origin !== undefined && this.#originReads(origin) ? new CorsCall(given, origin) : given;
    try {
      this.#route(call);
    } catch (error) {
      failed(call, error, this.#onerror);
    }
  }

  drain(): void {
    this.#open = false;
  }

  async close(): Promise<void> {
    this.drain();
    this.#closed = true;
    try {
      await this.#sessions.close();
    } finally {
      this.#others?.close();
      this.#passed?.close();
    }
  }

  readonly #onfailure = (error: Error): void => {
    if (this.#reported.has(error)) return;
    if (error instanceof Error) this.#reported.add(error);
    this.#onerror(error);
  };

  #route(call: HttpCall): void {
    const host = call.header('host');
    // RFC 9112, section 3.2.
    if (host === '' || host?.includes(',')) {
      return refuse(call, 400, 'A request must have exactly one Host header', NO_HEADERS, 'host', {
        value: reported(host),
      });
    }
    if (host === undefined || !this.#hostAllowed(host)) {
      return refuse(
        call,
        403,
        quoting`Host not allowed: ${String(host)} (the option allowedHosts, or --allow-host, allows it)`,
        NO_HEADERS,
        'host',
        { value: reported(host) },
      );
    }
    const authenticator = this.#authenticator;
    // Before the check of the origin, because pages of any origin may read where to get a token.
    const document = authenticator?.metadata(call);
    if (document) return respondDocument(call, document);
    const origin = call.header('origin');
    if (origin !== undefined && !this.#originAllowed(origin)) {
      return refuse(
        call,
        403,
        quoting`Origin not allowed: ${origin} (the option allowedOrigins, or --allow-origin, allows it)`,
        NO_HEADERS,
        'origin',
        { value: reported(origin) },
      );
    }
    if (call instanceof CorsCall && call.preflight) return call.answerPreflight(authenticator?.credentialHeaders);
    const page = this.#pages(call.path);
    if (page)
      return authenticator && page.requiresAuth
        ? void this.#enter(call, authenticator, (admitted) => page.answer(admitted))
        : page.answer(call);
    if (authenticator && this.#serves(call))
      return void this.#enter(call, authenticator, (admitted) => this.#dispatch(admitted));
    this.#dispatch(call);
  }

  /**
   * Whether there is an endpoint at the path of a call. If there is none, the response is 404, with or without a
   * credential.
   */
  #serves(call: HttpCall): boolean {
    return this.#isStreamable(call) || this.#isSse(call);
  }

  /** Goes on with a call whose credential is accepted. Otherwise the call is answered. */
  async #enter(call: HttpCall, authenticator: Authenticator, goOn: (call: HttpCall) => void): Promise<void> {
    let outcome: AuthInfo | AuthRefusal;
    try {
      outcome = checkOutcome(await authenticator.authenticate(call));
    } catch (error) {
      return unchecked(call, error, this.#onfailure);
    }
    // The client has left, but a proxy in between may wait for a response.
    if (call.gone) return call.respond(400, NO_HEADERS);
    if (!('principal' in outcome)) {
      const { status, message, headers, scopes } = outcome;
      return refuse(call, status, message, headers, status === 403 ? 'scope' : 'credential', scopes && { scopes });
    }
    try {
      goOn(new AuthenticatedCall(call, outcome, authenticator.credentialHeaders));
    } catch (error) {
      failed(call, error, this.#onerror);
    }
  }

  #dispatch(call: HttpCall): void {
    if (call.principal !== undefined && !isPrincipal(call.principal))
      return unchecked(call, new TypeError(NO_PRINCIPAL), this.#onfailure);
    if (this.#closed) return shuttingDown(call);
    if (this.#isStreamable(call)) return this.#streamable.handle(call);
    if (this.ssePath !== false) {
      if (call.path === this.ssePath) return this.#open ? this.#sse.open(call) : shuttingDown(call);
      if (call.path === this.#messagesPath) return this.#sse.post(call);
    }
    refuse(call, 404, this.path === '*' ? 'Not found' : `Not found; the endpoint is ${this.path}`);
  }

  #isStreamable(call: HttpCall): boolean {
    if (this.path !== '*') return call.path === this.path;
    // A router may send all requests for metadata here, also those about other servers (RFC 9728, section 3.1).
    return !(call.originalPath ?? call.path).startsWith('/.well-known/') && !this.#isSse(call);
  }

  #isSse({ path }: HttpCall): boolean {
    return this.ssePath !== false && (path === this.ssePath || path === this.#messagesPath);
  }
}

function checkPaths(paths: readonly string[]): void {
  for (const path of paths) {
    if (!path.startsWith('/') && (path !== '*' || path !== paths[0]))
      throw new TypeError(`A path must begin with a slash: ${JSON.stringify(path)}`);
  }
  if (new Set(paths).size < paths.length) throw new TypeError(`The paths must differ: ${paths.join(', ')}`);
}
