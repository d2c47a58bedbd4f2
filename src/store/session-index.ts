import { Oldest } from '../base/oldest.ts';
import { PART_OF_ONE } from '../base/share.ts';
import type { SessionId } from './event-log.ts';
import { IN_USE } from './session-store.ts';

/** What is known of a stored session without its record. */
export interface Place {
  readonly share: string;
  /** When the session was last used, in milliseconds since 1970. */
  readonly usedAt: number;
  readonly recordBytes: number;
  /** 0 if its client has set nothing. */
  readonly settingsBytes: number;
}

export interface SessionLimits {
  readonly sessions: number;
  readonly bytes: number;
}

/** The part of a limit above which a share is large. There are few large shares, so they can be compared each time. */
const LARGE = 1 / 64;

class Share {
  readonly name: string;
  /** In the order of their last use. */
  readonly places = new Map<SessionId, Place>();
  readonly #oldest = new Oldest(this.places);
  bytes = 0;

  constructor(name: string) {
    this.name = name;
  }

  size(measure: keyof SessionLimits): number {
    return measure === 'sessions' ? this.places.size : this.bytes;
  }

  oldest(except: SessionId): SessionId | undefined {
    return take(this.#oldest, except);
  }
}

/** The sessions of a store, in the order of their last use, and in shares. */
export class SessionIndex {
  readonly #places = new Map<SessionId, Place>();
  readonly #oldest = new Oldest(this.#places);
  readonly #shares = new Map<string, Share>();
  readonly #large = new Set<Share>();
  readonly #limits: SessionLimits;
  #bytes = 0;

  constructor(limits: SessionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#places.size;
  }

  get(id: SessionId): Place | undefined {
    return this.#places.get(id);
  }

  /** The session that was silent the longest comes first. */
  [Symbol.iterator](): Iterator<[id: SessionId, place: Place]> {
    return this.#places[Symbol.iterator]();
  }

  set(id: SessionId, place: Place): void {
    const former = this.#places.get(id);
    if (former && (former.usedAt !== place.usedAt || former.share !== place.share)) this.delete(id);
    const share = this.#shareOf(place.share);
    this.#count(share, bytesOf(place) - bytesOf(share.places.get(id)));
    this.#places.set(id, place);
    share.places.set(id, place);
    this.#classify(share);
  }

  delete(id: SessionId): void {
    const place = this.#places.get(id);
    if (!place) return;
    const share = this.#shareOf(place.share);
    this.#count(share, -bytesOf(place));
    this.#places.delete(id);
    share.places.delete(id);
    if (share.places.size === 0) this.#shares.delete(share.name);
    this.#classify(share);
  }

  /** The limit that would be exceeded if a session had this place. */
  exceeded(id: SessionId, place: Place): keyof SessionLimits | undefined {
    const former = this.#places.get(id);
    if (this.#places.size + (former ? 0 : 1) > this.#limits.sessions) return 'sessions';
    return this.#bytes + bytesOf(place) - bytesOf(former) > this.#limits.bytes ? 'bytes' : undefined;
  }

  /**
   * The session to remove for another one. Undefined if there is no room for the other one. Of the large shares, the
   * largest one loses the session that was silent the longest. If none is large, it is the one of all.
   *
   * A share does not lose a session in use for another share, except what it has above `PART_OF_ONE` of the limit.
   *
   * @param id the other session. It is not removed.
   */
  evictable(id: SessionId, place: Place, exceeded: keyof SessionLimits, now: number): SessionId | undefined {
    const own = this.#shares.get(place.share);
    // If a share has as much as the own one, the own one loses.
    const large = [...this.#large].toSorted(
      (a, b) => b.size(exceeded) - a.size(exceeded) || Number(b === own) - Number(a === own),
    );
    const isIdle = (session: SessionId): boolean => now - this.#places.get(session)!.usedAt >= IN_USE;
    for (const share of large) {
      const oldest = share.oldest(id);
      if (oldest === undefined) continue;
      const isOver = share.size(exceeded) > this.#limits[exceeded] * PART_OF_ONE;
      if (share === own || isOver || isIdle(oldest)) return oldest;
    }
    const oldest = take(this.#oldest, id);
    return oldest !== undefined && isIdle(oldest) ? oldest : own?.oldest(id);
  }

  #shareOf(name: string): Share {
    let share = this.#shares.get(name);
    if (!share) this.#shares.set(name, (share = new Share(name)));
    return share;
  }

  #count(share: Share, bytes: number): void {
    share.bytes += bytes;
    this.#bytes += bytes;
  }

  #classify(share: Share): void {
    const { sessions, bytes } = this.#limits;
    if (share.places.size > sessions * LARGE || share.bytes > bytes * LARGE) this.#large.add(share);
    else this.#large.delete(share);
  }
}

function bytesOf(place: Place | undefined): number {
  return place ? place.recordBytes + place.settingsBytes : 0;
}

/** A key that is taken and not removed comes again in another turn. Until then, newer ones do as well. */
function take(keys: Oldest<SessionId>, except: SessionId): SessionId | undefined {
  const oldest = keys.take();
  if (oldest !== except) return oldest;
  const next = keys.take();
  return next === except ? undefined : next;
}
