import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';

/** A suspended exchange that can be dropped. */
export interface Parked {
  readonly id: string;
  readonly principal: string | undefined;
  /** The address of a caller without a principal, if it is known. */
  readonly address: string | undefined;
  /** The bytes of its request, the answers so far and the open questions. Constant while it is suspended. */
  readonly bytes: number;
  giveUp(reason: Error): void;
}

export interface ParkingOptions {
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

interface Place<P extends Parked> {
  readonly parked: P;
  readonly since: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * The exchanges that wait for their callers, limited in number, size and time. A full table drops the exchange that has
 * waited longest, if that is at least a minute. Otherwise it drops the oldest exchange of the principal or address that
 * has the most, if the newcomer has fewer. Otherwise it refuses the newcomer.
 */
export class SuspendedRequests<P extends Parked> {
  readonly #options: ParkingOptions;
  /** Oldest first. */
  readonly #places = new Map<string, Place<P>>();
  #bytes = 0;
  #closed: Error | undefined;

  constructor(options: ParkingOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#places.size;
  }

  get(id: string): P | undefined {
    return this.#places.get(id)?.parked;
  }

  /** @throws RpcError if there is no room, or after `close`. */
  add(parked: P): void {
    if (this.#closed) throw this.#closed;
    const { principal } = parked;
    // Do not drop anything for an exchange that will not fit anyway.
    if (parked.bytes > MAX_BYTES) throw full();
    const { lifetime, maxSuspended } = this.#options;
    if (principal !== undefined) while (!this.#fits(principal, parked.bytes)) this.#makeRoomOf(principal);
    while (this.#places.size >= maxSuspended || this.#bytes + parked.bytes > MAX_BYTES) this.#makeRoomFor(parked);
    const timer = setTimeout(
      () => parked.giveUp(gone(`the caller did not come back with its answers within ${lifetime} ms`)),
      lifetime,
    );
    timer.unref?.();
    this.#places.set(parked.id, { parked, since: Date.now(), timer });
    this.#bytes += parked.bytes;
  }

  delete({ id, bytes }: P): void {
    const place = this.#places.get(id);
    if (!place) return;
    clearTimeout(place.timer);
    this.#places.delete(id);
    this.#bytes -= bytes;
  }

  /** Drops all exchanges. None can be added afterwards. */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { parked } of this.#places.values()) parked.giveUp(reason);
  }

  #fits(principal: string, more: number): boolean {
    let count = 0;
    let bytes = more;
    for (const { parked } of this.#places.values()) {
      if (parked.principal !== principal) continue;
      count += 1;
      bytes += parked.bytes;
    }
    return count < this.#options.maxSuspendedPerPrincipal && (count === 0 || bytes <= MAX_BYTES_PER_PRINCIPAL);
  }

  /** Drops one exchange of a principal that has reached its limit. */
  #makeRoomOf(principal: string): void {
    for (const { parked, since } of this.#places.values()) {
      if (parked.principal !== principal) continue;
      if (Date.now() - since < EVICTABLE_AFTER) break;
      return this.#evict(parked);
    }
    throw full();
  }

  /** Drops one exchange of a full table. */
  #makeRoomFor(newcomer: P): void {
    const [first] = this.#places.values();
    const evicted = first && Date.now() - first.since >= EVICTABLE_AFTER ? first.parked : this.#oldestOfMost(newcomer);
    if (!evicted) throw full();
    this.#evict(evicted);
  }

  /**
   * The oldest exchange of the principal or address that has the most. Undefined if the newcomer would then have as
   * many.
   */
  #oldestOfMost(newcomer: P): P | undefined {
    const shares = new Map<string, P[]>();
    for (const { parked } of this.#places.values()) {
      const share = shareOf(parked);
      const others = shares.get(share);
      if (others) others.push(parked);
      else shares.set(share, [parked]);
    }
    let most: readonly P[] = [];
    for (const all of shares.values()) if (all.length > most.length) most = all;
    const own = shares.get(shareOf(newcomer))?.length ?? 0;
    return most.length > own + 1 ? most[0] : undefined;
  }

  #evict(parked: P): void {
    this.delete(parked);
    parked.giveUp(gone('too many others came after it'));
  }
}

function shareOf({ principal, address = '' }: Parked): string {
  return principal === undefined ? `address ${address}` : `principal ${principal}`;
}

function full(): RpcError {
  return new RpcError(ErrorCode.InternalError, 'Too many requests wait for answers of their callers; try again later');
}

function gone(why: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The request was given up: ${why}`);
}
