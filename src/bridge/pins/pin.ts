import { Lifetime } from '../../base/lifetime.ts';
import { Waiters } from '../../base/waiters.ts';
import type { Session } from '../../core/exchange.ts';
import { Unavailable } from '../../core/unavailable.ts';
import type { NodeId } from '../../store/bus.ts';

/** Finds a connection of a bridge: the signal of a session, or the identity of a client without one. */
export type ConnectionKey = AbortSignal | string;

/** The part of a session that is at another process. */
export class DistantSession extends Lifetime implements Session {
  static #count = 0;
  readonly id = `distant-session-${++DistantSession.#count}`;
  /** When the newest request came from there, by `performance.now()`. */
  lastUsed = performance.now();
}

/** A pin that another process asks for first has no session here. */
export const NO_SESSION: Session = { id: 'none', signal: new AbortController().signal };

/** The connection of one client, which this process has for all. */
export class Pin {
  readonly key: string;
  /** The key of its connection. For a session, a signal of its own: the session may go on where it is not pinned. */
  readonly connection: ConnectionKey;
  /** The processes at which the client's session is open, and that use this connection. */
  readonly distant = new Map<NodeId, DistantSession>();
  /** Requests in progress, without subscriptions. */
  calls = 0;
  lastUsed = performance.now();
  /** Whether another process has the client, or will have it. */
  moved = false;
  /** Whether it was given up, because the server keeps nothing for a connection. */
  unclaimed = false;
  readonly idle = new Waiters();
  readonly #abort: AbortController | undefined;

  /** @param client the identity of a client without a session. */
  constructor(key: string, client: string | undefined) {
    this.key = key;
    if (client === undefined) this.#abort = new AbortController();
    this.connection = client ?? this.#abort!.signal;
  }

  get ofSession(): boolean {
    return this.#abort !== undefined;
  }

  /** Ends the connection of a session. */
  end(): void {
    this.#abort?.abort(new Error('The client no longer uses the server'));
  }

  /** @param counted whether it is a call, and not a subscription. */
  async use<T>(counted: boolean, work: () => Promise<T>): Promise<T> {
    if (counted) this.calls += 1;
    try {
      return await work();
    } finally {
      this.lastUsed = performance.now();
      if (counted) {
        this.calls -= 1;
        if (this.calls === 0) this.idle.wake();
      }
    }
  }

  /** The client's session at another process. */
  at(node: NodeId): DistantSession {
    const session = this.distant.get(node) ?? new DistantSession();
    this.distant.set(node, session);
    session.lastUsed = performance.now();
    return session;
  }

  /** Whether the session is open at another process, and no request has come from there since. @param since by `performance.now()`. */
  isSilent(node: NodeId, since: number): boolean {
    const session = this.distant.get(node);
    return session !== undefined && session.lastUsed < since;
  }

  /** The client's session has ended there, or the process has. */
  leave(node: NodeId, why: Error): void {
    const session = this.distant.get(node);
    this.distant.delete(node);
    session?.abort(why);
  }
}

/** Whether a key is that of a session. */
export function isSessionKey(key: string): boolean {
  return (JSON.parse(key) as unknown[])[1] === 'session';
}

/** Whether a request failed only because the process that should serve it could not be reached. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Unavailable;
}

/** Nothing was done for the request. */
export function unavailable(cause: unknown): Unavailable {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  const message = `The process that has the client's connection cannot be reached${why}; try again later`;
  return new Unavailable(message, { cause });
}
