import { shareOf, type Owner } from '../../../base/share.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';

/** A suspended exchange that can be dropped. */
export interface SuspendedRequest extends Owner {
  readonly id: string;
  /** The bytes of its request, the answers so far and the open questions. Constant while it is suspended. */
  readonly bytes: number;
  abort(reason: Error): void;
}

export interface SuspensionLimits {
  /** How long an exchange may wait for its caller. Milliseconds. */
  readonly lifetime: number;
  /** The most suspended exchanges. */
  readonly maxSuspended: number;
  /** The most suspended exchanges of one principal, if callers have one. */
  readonly maxSuspendedPerPrincipal: number;
}

/** The most bytes of all suspended exchanges. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The most bytes of one principal, unless there is only one principal. */
const MAX_BYTES_PER_PRINCIPAL = 16 * 1024 * 1024;
/** When the table is full, an exchange that has waited this long makes room for a new one. Milliseconds. */
const EVICTABLE_AFTER = 60_000;

interface Entry<R extends SuspendedRequest> {
  readonly request: R;
  readonly since: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * The exchanges that wait for their callers, limited in number, size and time. A full table drops the exchange that has
 * waited longest, if that is at least a minute. Otherwise it drops the oldest exchange of the principal or address that
 * has the most, if the newcomer has fewer. Otherwise it refuses the newcomer.
 */
export class SuspendedRequests<R extends SuspendedRequest> {
  readonly #limits: SuspensionLimits;
  /** Oldest first. */
  readonly #entries = new Map<string, Entry<R>>();
  #bytes = 0;
  #closed: Error | undefined;

  constructor(limits: SuspensionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): R | undefined {
    return this.#entries.get(id)?.request;
  }

  /** @throws RpcError if there is no room, or after `close`. */
  add(request: R): void {
    if (this.#closed) throw this.#closed;
    const { principal } = request;
    // Nothing is dropped for an exchange that will not fit anyway.
    if (request.bytes > MAX_BYTES) throw full();
    const { lifetime, maxSuspended } = this.#limits;
    if (principal !== undefined) while (!this.#fits(principal, request.bytes)) this.#makeRoomOf(principal);
    while (this.#entries.size >= maxSuspended || this.#bytes + request.bytes > MAX_BYTES) this.#makeRoomFor(request);
    const timer = setTimeout(
      () => request.abort(gone(`the caller did not retry with its answers within ${lifetime} ms`)),
      lifetime,
    );
    timer.unref?.();
    this.#entries.set(request.id, { request, since: performance.now(), timer });
    this.#bytes += request.bytes;
  }

  delete({ id, bytes }: R): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.#entries.delete(id);
    this.#bytes -= bytes;
  }

  /** Drops all exchanges. None can be added afterwards. */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { request } of this.#entries.values()) request.abort(reason);
  }

  #fits(principal: string, more: number): boolean {
    let count = 0;
    let bytes = more;
    for (const { request } of this.#entries.values()) {
      if (request.principal !== principal) continue;
      count += 1;
      bytes += request.bytes;
    }
    return count < this.#limits.maxSuspendedPerPrincipal && (count === 0 || bytes <= MAX_BYTES_PER_PRINCIPAL);
  }

  /** Drops one exchange of a principal that has reached its limit. */
  #makeRoomOf(principal: string): void {
    for (const { request, since } of this.#entries.values()) {
      if (request.principal !== principal) continue;
      if (performance.now() - since < EVICTABLE_AFTER) break;
      return this.#evict(request);
    }
    throw full();
  }

  /** Drops one exchange of a full table. */
  #makeRoomFor(newcomer: R): void {
    const [first] = this.#entries.values();
    const evicted =
      first && performance.now() - first.since >= EVICTABLE_AFTER ? first.request : this.#oldestOfMost(newcomer);
    if (!evicted) throw full();
    this.#evict(evicted);
  }

  /**
   * The oldest exchange of the principal or address that has the most. Undefined if the new exchange would give its own
   * principal or address as many.
   */
  #oldestOfMost(newcomer: R): R | undefined {
    const shares = new Map<string, R[]>();
    for (const { request } of this.#entries.values()) {
      const share = shareOf(request);
      const others = shares.get(share);
      if (others) others.push(request);
      else shares.set(share, [request]);
    }
    let most: readonly R[] = [];
    for (const all of shares.values()) if (all.length > most.length) most = all;
    const own = shares.get(shareOf(newcomer))?.length ?? 0;
    return most.length > own + 1 ? most[0] : undefined;
  }

  #evict(request: R): void {
    this.delete(request);
    request.abort(gone('too many newer requests are waiting'));
  }
}

function full(): RpcError {
  return new RpcError(ErrorCode.InternalError, 'Too many requests wait for answers; try again later');
}

function gone(why: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The request was cancelled: ${why}`);
}
