import type { Middleware } from '../core/exchange.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { Method } from '../protocol/methods.ts';
import type { HealthCheck } from './health.ts';
import { observed } from './outcome.ts';

/** How it is found out whether a server can be reached. */
export interface ReachabilityOptions {
  /** Asks the server for anything at all; rejects where it does not answer. Has a limit of its own. */
  readonly probe: () => Promise<unknown>;
  /** Milliseconds from the beginning of one probe to that of the next, at least. Default 5 000. */
  readonly interval?: number | undefined;
}

/** Whether the server behind a service can be reached. */
export interface Reachability {
  /** Learns from the requests that go by. Put it around the service, inside of what may refuse a request itself. */
  readonly middleware: Middleware;
  /** For `createHealth`: `unreachable`, or nothing. Asked while the server is unreachable, it looks again. */
  readonly check: HealthCheck;
}

/**
 * Watches a server. It counts as reachable from the start, and whenever it answers. Where a request fails for want of a
 * connection, a probe decides, as one does while the server is unreachable and somebody asks: nothing is sent otherwise.
 */
export function reachability({ probe, interval = 5000 }: ReachabilityOptions): Reachability {
  let reachable = true;
  let probing = false;
  let last = -Infinity;
  const look = (): void => {
    const now = performance.now();
    if (probing || now - last < interval) return;
    probing = true;
    last = now;
    const found = (answered: boolean): void => {
      probing = false;
      reachable = answered;
    };
    probe().then(
      () => found(true),
      () => found(false),
    );
  };
  return {
    middleware: (next) => (exchange) =>
      observed(next, exchange, ({ outcome, code }) => {
        // A server may say −32000 itself: that it is gone is for the probe to say.
        if (code === CONNECTION_CLOSED) look();
        // What a server says of itself is known from its handshake: that answer need not come from it.
        else if (exchange.method !== Method.Discover && outcome !== 'error' && outcome !== 'cancelled')
          reachable = true;
      }),
    check: () => {
      if (reachable) return undefined;
      look();
      return 'unreachable';
    },
  };
}

/** Several servers as one check: it fails where none of them can be reached. */
export function anyReachable(servers: () => Iterable<Reachability>): HealthCheck {
  return () => {
    let problem: string | undefined;
    for (const { check } of servers()) {
      problem = check();
      if (problem === undefined) return undefined;
    }
    return problem;
  };
}
