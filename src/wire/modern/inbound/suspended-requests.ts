import { ShareCounts, shareOf, type Owner } from '../../../base/share.ts';
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
/** The most bytes of one principal, unless it has only a single exchange. */
const MAX_BYTES_PER_PRINCIPAL = 16 * 1024 * 1024;
/** An exchange that has waited this long makes room for a new one, if its owner has no more. Milliseconds. */
const EVICTABLE_AFTER = 60_000;

interface Entry<R extends SuspendedRequest> {
  readonly request: R;
  readonly share: string;
  readonly since: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * The exchanges that wait for their callers, limited in number, size and time. If the table is full, with the new exchange
 * counted, the principal or address that has the most of what is lacking loses its oldest exchange. If that is the one
 * with the new exchange, or another that has as much, the exchange must have waited for a minute. Otherwise the new
 * exchange is refused.
 */
export class SuspendedRequests<R extends SuspendedRequest> {
  readonly #limits: SuspensionLimits;
  /** Oldest first. */
  readonly #entries = new Map<string, Entry<R>>();
  #bytes = 0;
  readonly #counts = new ShareCounts();
  readonly #sizes = new ShareCounts();
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
    // Nothing is dropped for an exchange that will not fit anyway.
    const { bytes } = request;
    if (bytes > MAX_BYTES) throw full();
    const share = shareOf(request);
    const { lifetime, maxSuspended } = this.#limits;
    if (request.principal !== undefined) while (!this.#fits(share, bytes)) this.#makeRoomOf(share);
    while (this.#entries.size >= maxSuspended) this.#makeRoomFor(share, 1, this.#counts);
    while (this.#bytes + bytes > MAX_BYTES) this.#makeRoomFor(share, bytes, this.#sizes);
    const timer = setTimeout(
      () => request.abort(gone(`the caller did not retry with its answers within ${lifetime} ms`)),
      lifetime,
    );
    timer.unref?.();
    this.#entries.set(request.id, { request, share, since: performance.now(), timer });
    this.#bytes += bytes;
    this.#counts.add(share);
    this.#sizes.add(share, bytes);
  }

  delete({ id, bytes }: R): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.#entries.delete(id);
    this.#bytes -= bytes;
    this.#counts.remove(entry.share);
    this.#sizes.remove(entry.share, bytes);
  }

  /** Drops all exchanges. None can be added afterwards. */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { request } of this.#entries.values()) request.abort(reason);
  }

  #fits(share: string, bytes: number): boolean {
    const count = this.#counts.of(share);
    const fits = count === 0 || this.#sizes.of(share) + bytes <= MAX_BYTES_PER_PRINCIPAL;
    return fits && count < this.#limits.maxSuspendedPerPrincipal;
  }

  /** Drops one exchange of a principal that has reached its limit. */
  #makeRoomOf(principal: string): void {
    for (const { request, share, since } of this.#entries.values()) {
      if (share !== principal) continue;
      if (performance.now() - since < EVICTABLE_AFTER) break;
      return this.#evict(request);
    }
    throw full();
  }

  /** Drops one exchange of a full table. `amounts` are what each share has of what is lacking. */
  #makeRoomFor(newcomer: string, more: number, amounts: ShareCounts): void {
    const own = amounts.of(newcomer) + more;
    let most = own;
    for (const [, amount] of amounts) most = Math.max(most, amount);
    for (const { request, share, since } of this.#entries.values()) {
      if ((share === newcomer ? own : amounts.of(share)) < most) continue;
      if (most === own && performance.now() - since < EVICTABLE_AFTER) break;
      return this.#evict(request);
    }
    throw full();
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
