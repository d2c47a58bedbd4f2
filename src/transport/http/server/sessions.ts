import { evictable, type EvictionRules, type Holding } from '../../../base/eviction.ts';
import { allInTurns } from '../../../base/all-in-turns.ts';
import { inTurns } from '../../../base/in-turns.ts';
import { ShareCounts, shareOf, type Owner } from '../../../base/share.ts';

/** What a session table needs from a session. */
export interface TableSession {
  readonly sessionId?: string | undefined;
  /** The name of the session in a store. */
  readonly storedId?: string | undefined;
  readonly lastSeen: number;
  /** Whether a client is connected now. */
  readonly connected: boolean;
  /** Closes the session with the process. */
  close(): Promise<void>;
  /** Ends the session, because it was silent for too long or another one needs its place. */
  retire(): Promise<void>;
}

export interface SessionTableOptions {
  readonly maxSessions: number;
  /** Milliseconds. */
  readonly idleTimeout: number;
  /** Called at most every minute with the names of the sessions that were used since the last time. */
  readonly ontouch?: ((used: readonly string[]) => Promise<void>) | undefined;
  readonly onerror: (error: Error) => void;
}

/** A full table evicts sessions that were silent for this long (milliseconds) before it refuses new ones. */
const EVICTABLE_AFTER = 60_000;
/** How many sessions that were silent for long are found together, so that not every new one needs a search. */
const FOUND_TOGETHER = 100;

/** A session and its owner. */
class Place<Session extends TableSession> implements Holding {
  readonly session: Session;
  readonly share: string;

  constructor(session: Session, share: string) {
    this.session = session;
    this.share = share;
  }

  get busy(): boolean {
    return this.session.connected;
  }

  get lastUsed(): number {
    return this.session.lastSeen;
  }
}

/**
 * The live sessions of a handler, limited in number. A session that was idle for too long ends. A full table ends a
 * session for a new one by the rules of `evictable`. The sessions of one principal, or of one address, are one share.
 */
export class SessionTable<Session extends TableSession> {
  readonly #places = new Map<string, Place<Session>>();
  readonly #counts = new ShareCounts();
  /** Those that were silent the longest in the last search, the longest first, and when they were last used. */
  readonly #silent = new Map<Place<Session>, number>();
  readonly #options: SessionTableOptions;
  #touchedAt = performance.now();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: SessionTableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#places.size;
  }

  get(id: string): Session | undefined {
    return this.#places.get(id)?.session;
  }

  /** Makes room for one more session, if necessary by ending another one. Returns false if there is no room. */
  makeRoom(newcomer: Owner): boolean {
    const { maxSessions } = this.#options;
    if (this.#places.size < maxSessions) return true;
    const rules = {
      places: maxSessions,
      counts: this.#counts,
      newcomer: shareOf(newcomer),
      unusedSince: performance.now() - EVICTABLE_AFTER,
    };
    const evicted = evictable(this.#stillSilent(), rules) ?? this.#search(rules);
    if (evicted) this.#end(evicted.session);
    return evicted !== undefined;
  }

  add(id: string, session: Session, owner: Owner): void {
    const share = shareOf(owner);
    this.#places.set(id, new Place(session, share));
    this.#counts.add(share);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#sweep(), Math.min(Math.max(this.#options.idleTimeout / 4, 10), 60_000));
      this.#timer.unref?.();
    }
  }

  delete(id: string): void {
    const place = this.#places.get(id);
    if (!place) return;
    this.#places.delete(id);
    this.#silent.delete(place);
    this.#counts.remove(place.share);
    if (this.#places.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  /** All others were used later than these. */
  #stillSilent(): Place<Session>[] {
    for (const [place, lastUsed] of this.#silent)
      if (place.busy || place.lastUsed !== lastUsed) this.#silent.delete(place);
    return [...this.#silent.keys()];
  }

  #search(rules: EvictionRules): Place<Session> | undefined {
    const all = [...this.#places.values()];
    const found = evictable(all, rules);
    this.#silent.clear();
    if (!found) return undefined;
    const silent = all.filter((place) => !place.busy && place.lastUsed <= rules.unusedSince);
    for (const place of silent.toSorted((a, b) => a.lastUsed - b.lastUsed).slice(0, FOUND_TOGETHER))
      this.#silent.set(place, place.lastUsed);
    return found;
  }

  async close(): Promise<void> {
    await allInTurns(this.#places.values(), ({ session }) => session.close());
  }

  #sweep(): void {
    this.#touch();
    const before = performance.now() - this.#options.idleTimeout;
    void inTurns(this.#places.values(), ({ session }) => {
      if (session.lastSeen <= before && !session.connected) this.#end(session);
    });
  }

  #touch(): void {
    const { ontouch, onerror } = this.#options;
    if (!ontouch) return;
    const since = this.#touchedAt;
    this.#touchedAt = performance.now();
    const used: string[] = [];
    for (const { session } of this.#places.values())
      if (session.storedId !== undefined && (session.connected || session.lastSeen >= since))
        used.push(session.storedId);
    if (used.length > 0) ontouch(used).catch(onerror);
  }

  #end(session: Session): void {
    session.retire().catch(this.#options.onerror);
  }
}
