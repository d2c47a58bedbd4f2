import { checkBounds } from '../base/bounds.ts';
import { nextTurn } from '../base/wait.ts';
import { Oldest } from '../base/oldest.ts';
import type { SessionId } from './event-log.ts';
import { SessionStoreFull, type SessionRecord, type SessionStore, type SessionStoreOptions } from './session-store.ts';

/** How many sessions are touched in one turn of the event loop. */
const PORTION = 20;

/** Where the text of each record is. */
export interface RecordTexts {
  read(id: SessionId): string | undefined;
  /** @param usedAt when the session was last used, in milliseconds since 1970. */
  write(id: SessionId, text: string, usedAt: number): Promise<unknown>;
  touch(id: SessionId, usedAt: number): Promise<unknown>;
  remove(id: SessionId): Promise<unknown>;
}

/** Keeps sessions in the memory of this process. There is no timer. @throws RangeError if a limit is wrong. */
export function memorySessionStore(options: SessionStoreOptions = {}): SessionStore {
  const texts = new Map<SessionId, string>();
  return new IndexedSessions(options, {
    read: (id) => texts.get(id),
    write: async (id, text) => void texts.set(id, text),
    touch: async () => {},
    remove: async (id) => void texts.delete(id),
  });
}

interface Place {
  readonly bytes: number;
  readonly usedAt: number;
}

/** Applies the limits of a session store. The session that was silent the longest comes first in its index. */
export class IndexedSessions implements SessionStore {
  readonly #places = new Map<SessionId, Place>();
  readonly #oldest = new Oldest(this.#places);
  readonly #texts: RecordTexts;
  readonly #bounds: { maxSessions: number; maxRecordBytes: number; maxBytes: number; maxAge: number };
  readonly #now: () => number;
  #bytes = 0;

  constructor(options: SessionStoreOptions, texts: RecordTexts) {
    const {
      maxSessions = 100_000,
      maxRecordBytes = 256 * 1024,
      maxBytes = 256 * 1024 * 1024,
      maxAge = 24 * 3_600_000,
      now = () => Date.now(),
    } = options;
    this.#bounds = { maxSessions, maxRecordBytes, maxBytes, maxAge };
    checkBounds(this.#bounds);
    this.#texts = texts;
    this.#now = now;
  }

  /** Adds a stored session to the index. Call it for the sessions in the order of their last use. */
  restore(id: SessionId, bytes: number, usedAt: number): void {
    this.#place(id, { bytes, usedAt });
  }

  has(id: SessionId): boolean {
    return this.#places.has(id);
  }

  async get(id: SessionId): Promise<SessionRecord | undefined> {
    const text = this.#find(id) && this.#texts.read(id);
    return text === undefined ? undefined : (JSON.parse(text) as SessionRecord);
  }

  put(id: SessionId, record: SessionRecord): Promise<void> {
    return this.#write(id, record, this.#now());
  }

  async change(id: SessionId, change: (record: SessionRecord) => SessionRecord): Promise<SessionRecord | undefined> {
    const place = this.#find(id);
    const text = place && this.#texts.read(id);
    if (!place || text === undefined) return undefined;
    const record = change(JSON.parse(text) as SessionRecord);
    await this.#write(id, record, place.usedAt);
    return record;
  }

  async touch(ids: readonly SessionId[]): Promise<void> {
    const stored: Promise<unknown>[] = [];
    for (const [at, id] of ids.entries()) {
      // Each record may be large, and is written again.
      if (at % PORTION === PORTION - 1) await nextTurn();
      const usedAt = this.#now();
      const place = this.#find(id);
      if (!place) continue;
      this.#place(id, { ...place, usedAt });
      stored.push(this.#texts.touch(id, usedAt));
    }
    await Promise.all(stored);
  }

  async delete(id: SessionId): Promise<void> {
    if (this.#places.has(id)) await this.#remove(id);
  }

  async #write(id: SessionId, record: SessionRecord, usedAt: number): Promise<void> {
    const { maxRecordBytes, maxSessions, maxBytes } = this.#bounds;
    const text = JSON.stringify(record);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxRecordBytes)
      throw new SessionStoreFull(`The record of a session must not be larger than ${maxRecordBytes} bytes`);
    const former = this.#places.get(id);
    this.#place(id, { bytes, usedAt });
    const written = this.#texts.write(id, text, usedAt).catch((error: unknown) => {
      // The record is the one of before.
      if (former) this.#place(id, former);
      else this.#forget(id);
      throw error;
    });
    const stored = [written];
    while (this.#places.size > maxSessions || this.#bytes > maxBytes) stored.push(this.#remove(this.#oldest.take()!));
    stored.push(...this.#sweep());
    await Promise.all(stored);
  }

  #find(id: SessionId): Place | undefined {
    const place = this.#places.get(id);
    return place && this.#isExpired(place) ? undefined : place;
  }

  #isExpired({ usedAt }: Place): boolean {
    return this.#now() - usedAt > this.#bounds.maxAge;
  }

  /** The index is in the order of use, so expired sessions come first. */
  #sweep(): Promise<unknown>[] {
    const removed: Promise<unknown>[] = [];
    for (const [id, place] of this.#places) {
      if (!this.#isExpired(place)) break;
      removed.push(this.#remove(id));
    }
    return removed;
  }

  #place(id: SessionId, place: Place): void {
    this.#bytes += place.bytes - (this.#places.get(id)?.bytes ?? 0);
    const { usedAt } = this.#places.get(id) ?? {};
    if (usedAt !== place.usedAt) this.#places.delete(id);
    this.#places.set(id, place);
  }

  #remove(id: SessionId): Promise<unknown> {
    this.#forget(id);
    return this.#texts.remove(id);
  }

  #forget(id: SessionId): void {
    this.#bytes -= this.#places.get(id)?.bytes ?? 0;
    this.#places.delete(id);
  }
}
