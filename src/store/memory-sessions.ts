import { allInTurns } from '../base/all-in-turns.ts';
import { inTurns } from '../base/in-turns.ts';
import type { SessionId } from './event-log.ts';
import { SessionIndex, type Place } from './session-index.ts';
import {
  divided,
  sessionBounds,
  SessionStoreFull,
  type SessionBounds,
  type SessionRecord,
  type SessionSettings,
  type SessionStore,
  type SessionStoreOptions,
} from './session-store.ts';
import { Unconfirmed } from './unconfirmed.ts';

/** How many expired sessions are removed with each new one, at most. */
const SWEEP = 100;

/** The JSON of a session. What is missing stays as it is. */
export interface SessionTexts {
  readonly record?: string | undefined;
  readonly settings?: string | undefined;
}

/** Where the texts of sessions are. */
export interface TextsOfSessions {
  record(id: SessionId): string | undefined;
  settings(id: SessionId): string | undefined;
  write(id: SessionId, texts: SessionTexts, place: Place): Promise<unknown>;
  remove(id: SessionId): Promise<unknown>;
}

/** Keeps sessions in the memory of this process. There is no timer. @throws RangeError if a limit is wrong. */
export function memorySessionStore(options: SessionStoreOptions = {}): SessionStore {
  const records = new Map<SessionId, string>();
  const settings = new Map<SessionId, string>();
  return new IndexedSessions(options, {
    record: (id) => records.get(id),
    settings: (id) => settings.get(id),
    write: async (id, texts) => {
      if (texts.record !== undefined) records.set(id, texts.record);
      if (texts.settings !== undefined) settings.set(id, texts.settings);
    },
    remove: async (id) => {
      records.delete(id);
      settings.delete(id);
    },
  });
}

/** Applies the limits of a session store. */
export class IndexedSessions implements SessionStore {
  readonly #index: SessionIndex;
  readonly #texts: TextsOfSessions;
  readonly #bounds: SessionBounds;
  readonly #now: () => number;
  readonly #unconfirmed = new Unconfirmed<Place>((id, place) => {
    if (place) this.#index.set(id, place);
    else this.#index.delete(id);
  });

  constructor(options: SessionStoreOptions, texts: TextsOfSessions) {
    this.#bounds = sessionBounds(options);
    this.#index = new SessionIndex({ sessions: this.#bounds.maxSessions, bytes: this.#bounds.maxBytes });
    this.#texts = texts;
    this.#now = options.now ?? (() => Date.now());
  }

  /** Adds a stored session to the index. Call it for the sessions in the order of their last use. */
  restore(id: SessionId, place: Place): void {
    this.#index.set(id, place);
  }

  get size(): number {
    return this.#index.size;
  }

  /** Removes all sessions that have expired. */
  async expire(): Promise<void> {
    const expired: SessionId[] = [];
    for (const [id, place] of this.#index) {
      // Stryker disable next-line ConditionalExpression: only saves time, because each is checked again below
      if (!this.#isExpired(place)) break;
      expired.push(id);
    }
    await inTurns(expired, (id) => {
      if (!this.#find(id)) this.#evict(id);
    });
  }

  has(id: SessionId): boolean {
    return this.#index.get(id) !== undefined;
  }

  async get(id: SessionId): Promise<SessionRecord | undefined> {
    const place = this.#find(id);
    const text = place && this.#texts.record(id);
    const settings = place && this.#settings(id, place);
    return text === undefined || !settings ? undefined : { ...(JSON.parse(text) as SessionRecord), ...settings };
  }

  async put(id: SessionId, given: SessionRecord): Promise<void> {
    const known = this.#find(id);
    if (known && this.#texts.record(id) !== undefined && this.#settings(id, known)) return;
    const [record, text] = divided(given).map((part) => JSON.stringify(part)) as [string, string];
    const settings = text === '{}' ? undefined : text;
    await this.#write(
      id,
      { record, settings },
      {
        share: given.share ?? '',
        usedAt: this.#now(),
        recordBytes: Buffer.byteLength(record),
        settingsBytes: settings === undefined ? 0 : Buffer.byteLength(settings),
      },
    );
  }

  async change(
    id: SessionId,
    change: (settings: SessionSettings) => SessionSettings,
  ): Promise<SessionSettings | undefined> {
    const place = this.#find(id);
    const former = place && this.#settings(id, place);
    if (!former) return undefined;
    const changed = change(former);
    const settings = JSON.stringify(changed);
    await this.#write(id, { settings }, { ...place, settingsBytes: Buffer.byteLength(settings) });
    return changed;
  }

  async touch(ids: readonly SessionId[]): Promise<void> {
    await allInTurns(ids, (id) => {
      const place = this.#find(id);
      if (!place) return undefined;
      const used = { ...place, usedAt: this.#now() };
      this.#index.set(id, used);
      return this.#texts.write(id, {}, used);
    });
  }

  async delete(id: SessionId): Promise<void> {
    const place = this.#index.get(id);
    if (!place) return;
    this.#index.delete(id);
    await this.#unconfirmed.write(id, place, undefined, () => this.#texts.remove(id));
  }

  /** Undefined if they are lost. Without them, the session is not the one that its client has. */
  #settings(id: SessionId, { settingsBytes }: Place): SessionSettings | undefined {
    const text = settingsBytes === 0 ? '{}' : this.#texts.settings(id);
    return text === undefined ? undefined : (JSON.parse(text) as SessionSettings);
  }

  async #write(id: SessionId, texts: SessionTexts, place: Place): Promise<void> {
    const { maxRecordBytes } = this.#bounds;
    if (place.recordBytes + place.settingsBytes > maxRecordBytes)
      throw new SessionStoreFull(`The record of a session must not be larger than ${maxRecordBytes} bytes`);
    this.#sweep();
    this.#makeRoom(id, place);
    const former = this.#index.get(id);
    this.#index.set(id, place);
    await this.#unconfirmed.write(id, former, place, () => this.#texts.write(id, texts, place));
  }

  #makeRoom(id: SessionId, place: Place): void {
    for (;;) {
      const exceeded = this.#index.exceeded(id, place);
      if (!exceeded) return;
      const evicted = this.#index.evictable(id, place, exceeded, this.#now());
      if (evicted === undefined) throw new SessionStoreFull('The store has no room: all other sessions are in use');
      this.#evict(evicted);
    }
  }

  #find(id: SessionId): Place | undefined {
    const place = this.#index.get(id);
    return place && this.#isExpired(place) ? undefined : place;
  }

  #isExpired({ usedAt }: Place): boolean {
    return this.#now() - usedAt > this.#bounds.maxAge;
  }

  /** The index is in the order of use, so expired sessions come first. */
  #sweep(): void {
    let count = 0;
    for (const [id, place] of this.#index) {
      if (count >= SWEEP || !this.#isExpired(place)) break;
      this.#evict(id);
      count += 1;
    }
  }

  /** If its texts cannot be removed now, the session is there again after the next start. */
  #evict(id: SessionId): void {
    this.#index.delete(id);
    this.#texts.remove(id).catch(() => {});
  }
}
