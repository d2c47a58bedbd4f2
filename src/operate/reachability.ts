import type { Middleware } from '../core/exchange.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { Method } from '../protocol/methods.ts';
import type { HealthCheck } from './health.ts';
import { observed } from './outcome.ts';

/** How to find out whether a server can be reached. */
export interface ReachabilityOptions {
  /** Sends any request to the server. Rejects if the server does not answer. Must have its own timeout. */
  readonly probe: () => Promise<unknown>;
  /** Minimum milliseconds between the starts of two probes. Default 5 000. */
  readonly interval?: number | undefined;
}

/** Whether the server behind a service can be reached. */
export interface Reachability {
  /**
   * Observes the requests that pass. Put it around the service, inside any middleware that may refuse a request itself.
   */
  readonly middleware: Middleware;
  /** For `createHealth`: `unreachable` or undefined. A check of an unreachable server starts a new probe. */
  readonly check: HealthCheck;
  /** Whether the last attempt to connect, or the last call, succeeded. True at the start. */
  readonly reachable: boolean;
  /** Records whether another attempt to connect has succeeded. */
  report(answered: boolean): void;
}

/**
 * Watches a server. It counts as reachable at the start and after each answer. If a request fails because of the
 * connection, a probe decides. A probe also runs when an unreachable server is checked. No other probes are sent.
 */
export function reachability({ probe, interval = 5000 }: ReachabilityOptions): Reachability {
  let reachable = true;
  let probing = false;
  let last = -Infinity;
  const startProbe = (): void => {
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
        // A server may send −32000 itself, so a probe has to confirm the loss.
        if (code === CONNECTION_CLOSED) startProbe();
        // The answer to `server/discover` may come from the handshake, not from the server.
        else if (exchange.method !== Method.Discover && outcome !== 'error' && outcome !== 'cancelled')
          reachable = true;
      }),
    get reachable() {
      return reachable;
    },
    report: (answered) => {
      reachable = answered;
    },
    check: () => {
      if (reachable) return undefined;
      startProbe();
      return 'unreachable';
    },
  };
}

/** One check for several servers. It fails if none of them can be reached. */
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
