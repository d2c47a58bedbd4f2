import { expect, test } from 'vitest';
import { SessionTable, type TableSession } from './sessions.ts';

/** A session that was silent for some time, and counts how often it was looked at. */
class SilentSession implements TableSession {
  static looks = 0;
  static readonly retired: string[] = [];
  readonly sessionId: string;
  lastSeen: number;
  readonly #table: SessionTable<SilentSession>;

  constructor(id: number, table: SessionTable<SilentSession>) {
    this.sessionId = `${id}`;
    this.lastSeen = performance.now() - 120_000 + id;
    this.#table = table;
  }

  get connected(): boolean {
    SilentSession.looks += 1;
    return false;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  retire(): Promise<void> {
    SilentSession.retired.push(this.sessionId);
    this.#table.delete(this.sessionId);
    return Promise.resolve();
  }
}

test('sessions that were silent the longest make room, and few are looked at for each new one', () => {
  const owner = { principal: undefined, address: '192.0.2.1' };
  const table = new SessionTable<SilentSession>({ maxSessions: 3000, idleTimeout: 1_800_000, onerror: () => {} });
  const sessions = new Map<number, SilentSession>();
  const add = (id: number): void => {
    const session = new SilentSession(id, table);
    sessions.set(id, session);
    table.add(`${id}`, session, owner);
  };
  for (let id = 0; id < 3000; id += 1) add(id);
  SilentSession.looks = 0;
  for (let id = 0; id < 500; id += 1) {
    // Some are used meanwhile, and some end.
    if (id === 50) sessions.get(60)!.lastSeen = performance.now();
    if (id === 150) table.delete('170');
    expect(table.makeRoom(owner)).toBe(true);
    add(3000 + id);
  }
  const expected = Array.from({ length: 501 }, (_, id) => id).filter((id) => id !== 60 && id !== 170);
  expect(SilentSession.retired.map(Number)).toEqual(expected);
  expect(SilentSession.looks).toBeLessThan(200_000);
  for (const id of sessions.keys()) table.delete(`${id}`);
});
