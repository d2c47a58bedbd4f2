import type { SessionId } from '../event-log.ts';
import { IndexedSessions } from '../memory-sessions.ts';
import type { Place } from '../session-index.ts';
import type { SessionStoreOptions } from '../session-store.ts';
import type { EventsInTables } from './events.ts';
import { keyOf, type Table } from './table.ts';

/**
 * A session has an entry in each of them. Its place is written each minute while it is used, so it does not contain the
 * record, which may be large.
 */
export interface SessionTables {
  readonly records: Table;
  readonly settings: Table;
  readonly places: Table;
}

type StoredPlace = [usedAt: number, recordBytes: number, settingsBytes: number, share: string];

/** The sessions in tables. A session that is removed loses its events too. */
export function sessionsIn(
  { records, settings, places }: SessionTables,
  options: SessionStoreOptions = {},
  events: EventsInTables,
): IndexedSessions {
  const sessions = new IndexedSessions(options, {
    record: (id) => records.read(keyOf(id)),
    settings: (id) => settings.read(keyOf(id)),
    write: (id, texts, { usedAt, recordBytes, settingsBytes, share }) => {
      const key = keyOf(id);
      const place: StoredPlace = [usedAt, recordBytes, settingsBytes, share];
      const writes = [places.write(key, JSON.stringify(place))];
      if (texts.record !== undefined) writes.push(records.write(key, texts.record));
      if (texts.settings !== undefined) writes.push(settings.write(key, texts.settings));
      return Promise.all(writes);
    },
    remove: (id) => {
      const key = keyOf(id);
      return Promise.all([places.remove(key), records.remove(key), settings.remove(key), events.drop(id)]);
    },
  });
  const found: (readonly [id: SessionId, place: Place])[] = [];
  const unplaced = new Set(records.keys());
  for (const [key, text] of places.range({})) {
    // Without a record, nobody can continue the session.
    if (!unplaced.delete(key)) continue;
    const [usedAt, recordBytes, settingsBytes, share] = JSON.parse(text) as StoredPlace;
    found.push([decodeURIComponent(key), { usedAt, recordBytes, settingsBytes, share }]);
  }
  // If the place of a session was damaged, nothing says whether it had settings. If this fails, the next start repeats it.
  for (const key of unplaced) for (const table of [records, settings]) table.remove(key).catch(() => {});
  for (const [id, place] of found.toSorted(([, a], [, b]) => a.usedAt - b.usedAt)) sessions.restore(id, place);
  return sessions;
}
