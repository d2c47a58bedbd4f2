import type { Service } from '../core/exchange.ts';
import type { EventLog } from '../store/event-log.ts';
import {
  createHttpHandler,
  type HttpHandler,
  type HttpHandlerOptions,
  type HttpPage,
} from '../transport/http/handler.ts';
import { PassedCall } from '../transport/http/passed-call.ts';
import { createInbound, type Inbound, type InboundOptions } from '../wire/serve.ts';

export interface MountsOptions {
  /** The service at a name; undefined where there is none now. */
  readonly find: (name: string) => Service | undefined;
  /** What follows the name in the path. */
  readonly path: string;
  readonly inbound: InboundOptions;
  readonly http: Pick<HttpHandlerOptions, 'maxSessions' | 'idleTimeout' | 'onerror'>;
  /** The event log that all of them share; called with the first request. */
  readonly eventLog: () => EventLog;
}

/**
 * Opens a service to clients. With a key for states, what only reads or does no harm when it runs twice goes on where a
 * process that asked its client is gone; without one nobody could open such a state.
 */
export function inboundTo(service: Service, options: InboundOptions): Inbound {
  const safeToRerun = options.stateKey === undefined ? undefined : 'by-annotations';
  return createInbound(service, { ...options, safeToRerun });
}

interface Mount {
  readonly inbound: Inbound;
  readonly handler: HttpHandler;
}

/** Services that are served by their names, each at a path of its own: `/servers/<name>/mcp`. */
export class Mounts {
  readonly #options: MountsOptions;
  /** Those that were asked for, of services that there were when the last one came. */
  readonly #mounts = new Map<string, Mount>();
  #draining = false;

  constructor(options: MountsOptions) {
    this.#options = options;
  }

  /** For `pages` of the handler in front, which looks who is calling. */
  readonly page = (path: string): HttpPage | undefined => {
    const name = this.#nameIn(path);
    const service = name === undefined ? undefined : this.#options.find(name);
    if (name === undefined || !service) return undefined;
    const { handler } = this.#mounts.get(name) ?? this.#add(name, service);
    return { requiresAuth: true, answer: (call) => handler.handle(new MountedCall(call)) };
  };

  /** Closes what was served by names that are gone. Sessions of the others go on. */
  clear(): void {
    for (const name of this.#mounts.keys()) if (!this.#options.find(name)) this.#remove(name);
  }

  get sessions(): number {
    return this.#sum(({ handler }) => handler.sessions);
  }

  get streams(): number {
    return this.#sum(({ handler }) => handler.streams);
  }

  get suspended(): number {
    return this.#sum(({ inbound }) => inbound.suspended);
  }

  /** Takes no more sessions and requests, lets what is being answered finish, and ends the rest after `timeout` milliseconds. */
  async close(timeout: number): Promise<void> {
    this.#draining = true;
    const mounts = [...this.#mounts.values()];
    for (const { handler } of mounts) handler.drain();
    await Promise.all(mounts.map((mount) => end(mount, timeout)));
  }

  #nameIn(path: string): string | undefined {
    const { path: rest } = this.#options;
    const begin = '/servers/';
    if (!path.startsWith(begin) || !path.endsWith(rest)) return undefined;
    const encoded = path.slice(begin.length, path.length - rest.length);
    if (encoded === '' || encoded.includes('/')) return undefined;
    try {
      return decodeURIComponent(encoded);
    } catch {
      return undefined;
    }
  }

  #add(name: string, first: Service): Mount {
    // However many names there will have been: there are no more than there are services.
    this.clear();
    const { find, inbound: inboundOptions, http, eventLog } = this.#options;
    // Whatever it is at the time: it may be replaced while sessions go on.
    const inbound = inboundTo((exchange) => (find(name) ?? first)(exchange), inboundOptions);
    const { onsession, onrequest } = inbound;
    const paths = { path: '*', ssePath: false } as const;
    const handler = createHttpHandler({ ...http, ...paths, eventLog: eventLog(), onsession, onrequest });
    if (this.#draining) handler.drain();
    const mount = { inbound, handler };
    this.#mounts.set(name, mount);
    return mount;
  }

  #remove(name: string): void {
    const mount = this.#mounts.get(name);
    if (!mount) return;
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

async function end({ inbound, handler }: Mount, timeout: number): Promise<void> {
  await inbound.close(timeout);
  await handler.close();
}

/** A call whose Host and Origin have been looked at: the next handler has nothing to ask of them. */
class MountedCall extends PassedCall {
  override header(name: string): string | undefined {
    if (name === 'host') return 'localhost';
    return name === 'origin' ? undefined : super.header(name);
  }
}
