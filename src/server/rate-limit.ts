import { Oldest } from '../base/oldest.ts';
import type { Exchange, Middleware } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { RATE_LIMITED } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';

/** The limits of `rateLimit`. */
export interface RateLimitOptions {
  /** Requests per minute that a caller may make on average. */
  readonly perMinute: number;
  /** Requests that a caller may make at once after a pause. Default `perMinute`. */
  readonly burst?: number | undefined;
  /** The methods that are counted. Default: `tools/call` and `completion/complete`. */
  readonly methods?: readonly string[] | undefined;
  /**
   * The key of the limit that a caller shares. Default: the principal, or else the session. All other requests share
   * one limit: these are the anonymous requests of 2026-07-28.
   */
  readonly key?: ((exchange: Exchange) => string) | undefined;
}

/**
 * Callers that are remembered. Beyond that, the caller with the oldest request is dropped, and starts with a full
 * allowance again.
 */
const MAX_CALLERS = 10_000;

interface Bucket {
  /** Requests left at `time`. */
  left: number;
  time: number;
}

/**
 * Middleware that limits the request rate of each caller (2026-07-28, server/tools and server/utilities/completion:
 * servers MUST rate limit these). A request beyond the limit is refused with code 429 and `data.retryAfterMs`. Over
 * HTTP in 2026-07-28, the HTTP status is also 429.
 *
 * @throws RangeError if a number is not positive.
 */
export function rateLimit(options: RateLimitOptions): Middleware {
  const { perMinute, burst = perMinute, methods = [Method.CallTool, Method.Complete], key = defaultKey } = options;
  if (!(perMinute > 0) || !(burst >= 1)) throw new RangeError('perMinute must be more than 0, and burst 1 or more');
  const counted = new Set(methods);
  const perMs = perMinute / 60_000;
  const buckets = new Map<string, Bucket>();
  const oldest = new Oldest(buckets);

  return (next) => (exchange) => {
    if (!counted.has(exchange.method)) return next(exchange);
    const caller = key(exchange);
    const now = performance.now();
    const bucket = buckets.get(caller) ?? { left: burst, time: now };
    // The last entry is the newest.
    buckets.delete(caller);
    buckets.set(caller, bucket);
    if (buckets.size > MAX_CALLERS) buckets.delete(oldest.take()!);
    bucket.left = Math.min(burst, bucket.left + (now - bucket.time) * perMs);
    bucket.time = now;
    if (bucket.left < 1) return Promise.reject(refused((1 - bucket.left) / perMs));
    bucket.left -= 1;
    return next(exchange);
  };
}

function defaultKey({ caller: { principal, session } }: Exchange): string {
  if (principal !== undefined) return `principal ${principal}`;
  return session ? `session ${session.id}` : 'others';
}

function refused(wait: number): RpcError {
  const retryAfterMs = Math.ceil(wait);
  return new RpcError(RATE_LIMITED, `Too many requests: try again in ${Math.ceil(retryAfterMs / 1000)} s`, {
    data: { retryAfterMs },
  });
}
