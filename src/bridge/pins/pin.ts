import { Lifetime } from '../../base/lifetime.ts';
import { inNextTurn } from '../../base/next-turn.ts';
import { inTurns } from '../../base/in-turns.ts';
import { Waiters } from '../../base/waiters.ts';
import type { Exchange, Session } from '../../core/exchange.ts';
import { Unavailable } from '../../core/unavailable.ts';
import { errorChain } from '../../jsonrpc/error-chain.ts';
import { changesOf } from '../../protocol/subscriptions.ts';
import { Method } from '../../protocol/methods.ts';
import type { NodeId } from '../../store/bus.ts';

/** Finds a connection of a bridge: the signal of a session, or the identity of a client without one. */
export type ConnectionKey = AbortSignal | string;

/** The part of a session that is at another process. */
export class DistantSession extends Lifetime implements Session {
  static #count = 0;
  readonly id = `distant-session-${++DistantSession.#count}`;
  readonly sharedId: string;
  /** When the newest request came from there, by `performance.now()`. */
  lastUsed = performance.now();

  constructor(sharedId: string) {
    super();
    this.sharedId = sharedId;
  }
}

/** The connection of one client, which this process has for all. */
export class Pin {
  readonly key: string;
  /** The key of its connection. For a session, a signal of its own: the session may go on where it is not pinned. */
  readonly connection: ConnectionKey;
  /** The processes at which the client's session is open, and that use this connection. */
  readonly distant = new Map<NodeId, DistantSession>();
  /** The subscriptions of its client at all processes. For a session, each notification goes to one of them. */
  readonly listening = new Set<Exchange>();
  /** Requests in progress, without subscriptions. */
  calls = 0;
  lastUsed = performance.now();
  /** Whether another process has the client, or will have it. */
  moved = false;
  /** Whether it was given up, because the server keeps nothing for a connection. */
  unclaimed = false;
  readonly idle = new Waiters();
  readonly #abort: AbortController | undefined;
  /** The changes of which the client may not hear, as JSON. */
  readonly #lost = new Set<string>();

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

  /** Serves a request. */
  async use<T>(exchange: Exchange, work: () => Promise<T>): Promise<T> {
    const isCall = exchange.method !== Method.Listen;
    if (isCall) this.calls += 1;
    else this.listening.add(exchange);
    try {
      return await work();
    } finally {
      this.lastUsed = performance.now();
      this.listening.delete(exchange);
      if (isCall) this.calls -= 1;
      if (isCall && this.calls === 0) this.idle.wake();
    }
  }

  /**
   * Notifications for a subscription are lost. Says wherever the client still listens to the same that it may have changed,
   * once for all subscriptions that lose something in the same turn: a process may end that had a thousand of them.
   */
  tellChanged({ params }: Exchange): void {
    if (this.#lost.size === 0) inNextTurn(() => this.#tellLost());
    for (const change of changesOf(params['notifications'])) this.#lost.add(JSON.stringify(change));
  }

  #tellLost(): void {
    const lost = new Set(this.#lost);
    this.#lost.clear();
    void inTurns(this.listening, (exchange) => {
      for (const change of changesOf(exchange.params['notifications']))
        if (lost.has(JSON.stringify(change))) void exchange.notify(...change).catch(() => {});
    });
  }

  /** The client's session at another process. */
  at(node: NodeId): DistantSession {
    const session = this.distant.get(node) ?? new DistantSession(partsOf(this.key)[2]!);
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
  return partsOf(key)[1] === 'session';
}

/** The name of the server, what the client has, and what names that. */
function partsOf(key: string): string[] {
  return JSON.parse(key) as string[];
}

/** Redis has refused a command. Undefined for any other reason. By name, because claims may come from another copy of this package. */
export function refusalOf(cause: unknown): Error | undefined {
  for (const each of errorChain(cause)) if (each.name === 'CommandRefused') return each;
  return undefined;
}

/** Nothing was done for the request. */
export function unavailable(cause: unknown): Unavailable {
  // What Redis says about its commands and scripts is no business of a client.
  const text = refusalOf(cause) ? 'Redis refuses commands' : cause instanceof Error ? cause.message : undefined;
  const why = text === undefined ? '' : `: ${text}`;
  const message = `The process that has the client's connection cannot be reached${why}; try again later`;
  return new Unavailable(message, { cause });
}
