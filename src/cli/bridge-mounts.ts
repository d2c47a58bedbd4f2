import { createHash } from 'node:crypto';
import type { Service } from '../core/exchange.ts';
import type { EventLog } from '../store/event-log.ts';
import type { SessionStore } from '../store/session-store.ts';
import {
  createHttpHandler,
  type HandlerState,
  type HttpHandler,
  type HttpHandlerOptions,
  type HttpPage,
} from '../transport/http/server/handler.ts';
import { refuse } from '../transport/http/server/access/refusals.ts';
import { RewrittenCall } from '../transport/http/server/rewritten-call.ts';
import { createInbound, type Inbound, type InboundOptions } from '../wire/serve.ts';

/** The most servers that an error names. */
const MAX_NAMED = 20;

export interface MountsOptions {
  /** The service with this name. Undefined if there is none now. */
  readonly find: (name: string) => Service | undefined;
  /** The names of the services now. */
  readonly names: () => readonly string[];
  /** The part of the path after the name. */
  readonly path: string;
  readonly inbound: InboundOptions;
  readonly http: Pick<HttpHandlerOptions, 'maxSessions' | 'idleTimeout' | 'onerror'>;
  /** Returns the state that all services share. Called with the first request. */
  readonly state: () => HandlerState;
}

/**
 * Opens a service to clients. With a state key, read-only and idempotent calls are run again if the process that asked
 * the client has left. Without a key, no other process can open the state.
 */
export function inboundTo(service: Service, options: InboundOptions): Inbound {
  const safeToRerun = options.stateKey === undefined ? undefined : 'by-annotations';
  return createInbound(service, { ...options, safeToRerun });
}

interface Mount {
  readonly inbound: Inbound;
  readonly handler: HttpHandler;
}

/** Serves each service at its own path: `/servers/<name>/mcp`. */
export class Mounts {
  readonly #options: MountsOptions;
  /**
   * The handlers of the services that clients have requested. Removed services are dropped when the next one is added.
   */
  readonly #mounts = new Map<string, Mount>();
  #draining = false;

  constructor(options: MountsOptions) {
    this.#options = options;
  }

  /** For a path that no service has. It requires a credential, because it names the services. */
  readonly #missing: HttpPage = {
    requiresAuth: true,
    answer: (call) => refuse(call, 404, `Not found; ${this.#places()}`),
  };

  /** For `pages` of the outer handler, which authenticates the caller. */
  readonly page = (path: string): HttpPage | undefined => {
    const name = this.#nameIn(path);
    const service = name === undefined ? undefined : this.#options.find(name);
    if (name === undefined || !service) return path.startsWith('/servers/') ? this.#missing : undefined;
    const { handler } = this.#mounts.get(name) ?? this.#add(name, service);
    return { requiresAuth: true, answer: (call) => handler.handle(new MountedCall(call)) };
  };

  /** Closes the sessions of names that were removed. Other sessions continue. */
  clear(): void {
    for (const [name, mount] of this.#mounts) if (!this.#options.find(name)) this.#remove(name, mount);
  }

  get sessions(): number {
    return this.#sum(({ handler }) => handler.sessions);
  }

  get revived(): number {
    return this.#sum(({ handler }) => handler.revived);
  }

  get takenOver(): number {
    return this.#sum(({ handler }) => handler.takenOver);
  }

  get streams(): number {
    return this.#sum(({ handler }) => handler.streams);
  }

  get suspended(): number {
    return this.#sum(({ inbound }) => inbound.suspended);
  }

  /**
   * Refuses new sessions and requests, lets running requests finish, and ends the rest after `timeout` milliseconds.
   */
  async close(timeout: number): Promise<void> {
    this.#draining = true;
    const mounts = [...this.#mounts.values()];
    for (const { handler } of mounts) handler.drain();
    await Promise.all(mounts.map((mount) => end(mount, timeout)));
  }

  #places(): string {
    const paths = this.#options.names().map((name) => `/servers/${encodeURIComponent(name)}${this.#options.path}`);
    if (paths.length === 0) return 'the bridge has no servers';
    const more = paths.length > MAX_NAMED ? `, and ${paths.length - MAX_NAMED} more` : '';
    return `the servers are at ${paths.slice(0, MAX_NAMED).join(', ')}${more}`;
  }

  #nameIn(path: string): string | undefined {
    const [, encoded, rest] = /^\/servers\/([^/]+)(\/.*)$/s.exec(path) ?? [];
    if (encoded === undefined || rest !== this.#options.path) return undefined;
    try {
      return decodeURIComponent(encoded);
    } catch {
      return undefined;
    }
  }

  #add(name: string, first: Service): Mount {
    // This bounds the map: it never holds more entries than there are services.
    this.clear();
    const { find, inbound: inboundOptions, http, state } = this.#options;
    // Looked up for each call, because the service may be replaced while sessions continue.
    const inbound = inboundTo((exchange) => (find(name) ?? first)(exchange), inboundOptions);
    const { onsession, onrequest } = inbound;
    const paths = { path: '*', ssePath: false } as const;
    const handler = createHttpHandler({ ...http, ...paths, state: stateOf(name, state()), onsession, onrequest });
    if (this.#draining) handler.drain();
    const mount = { inbound, handler };
    this.#mounts.set(name, mount);
    return mount;
  }

  #remove(name: string, mount: Mount): void {
    this.#mounts.delete(name);
    mount.handler.drain();
    end(mount, 0).catch((error: unknown) => this.#options.http.onerror?.(error as Error));
  }

  #sum(read: (mount: Mount) => number): number {
    let sum = 0;
    for (const mount of this.#mounts.values()) sum += read(mount);
    return sum;
  }
}

/** The sessions of each service are its own: a client cannot continue them at another service. */
function stateOf(name: string, { events, sessions, node, isAlive, bus }: HandlerState): HandlerState {
  if (!sessions) return { events };
  const own = (id: string): string => createHash('sha256').update(`${name}\n${id}`).digest('base64url');
  const ofService: SessionStore = {
    get: (id) => sessions.get(own(id)),
    put: (id, record) => sessions.put(own(id), record),
    change: (id, change) => sessions.change(own(id), change),
    touch: (ids) => sessions.touch(ids.map(own)),
    delete: (id) => sessions.delete(own(id)),
  };
  const ofStreams: EventLog = {
    open: (session, ...rest) => events.open(own(session), ...rest),
    append: (session, ...rest) => events.append(own(session), ...rest),
    ...(events.appendAll && { appendAll: (session, ...rest) => events.appendAll!(own(session), ...rest) }),
    end: (session, ...rest) => events.end(own(session), ...rest),
    after: (session, id) => events.after(own(session), id),
    find: (session, id) => events.find(own(session), id),
    unfinished: (session) => events.unfinished(own(session)),
    drop: (session) => events.drop(own(session)),
  };
  return { events: ofStreams, sessions: ofService, node, isAlive, bus };
}

async function end({ inbound, handler }: Mount, timeout: number): Promise<void> {
  await inbound.close(timeout);
  await handler.close();
}

/** A request whose Host and Origin are already checked: the next handler does not check them again. */
class MountedCall extends RewrittenCall {
  override header(name: string): string | undefined {
    if (name === 'host') return 'localhost';
    return name === 'origin' ? undefined : super.header(name);
  }
}
