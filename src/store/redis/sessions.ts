import { randomBytes } from 'node:crypto';
import type { SessionId } from '../event-log.ts';
import {
  divided,
  sessionBounds,
  SessionStoreFull,
  type SessionRecord,
  type SessionSettings,
  type SessionStore,
  type SessionStoreOptions,
} from '../session-store.ts';
import { finite, type Commands } from './commands.ts';
import { keyOfSession, SLACK } from './events.ts';
import { AGAIN, OneByOne } from './one-by-one.ts';
import { CHANGE, DELETE, GET, GET_SETTINGS, PUT, TOUCH } from './session-scripts.ts';

/** How many sessions one script touches. */
const PORTION = 100;

/** Sessions in Redis. A session that is removed loses its events too. */
export class RedisSessions implements SessionStore {
  /** How long a silent session is kept. Milliseconds. */
  readonly maxAge: number;
  readonly #commands: Commands;
  readonly #maxRecordBytes: number;
  /** What all scripts get after the time. */
  readonly #bounds: readonly number[];
  readonly #now: (() => number) | undefined;
  readonly #writes = new OneByOne();

  /** @throws RangeError if a limit is negative or not a number. */
  constructor(commands: Commands, options: SessionStoreOptions) {
    const { maxSessions, maxRecordBytes, maxBytes, maxAge } = sessionBounds(options);
    this.maxAge = maxAge;
    this.#commands = commands;
    this.#maxRecordBytes = maxRecordBytes;
    this.#bounds = [maxAge, maxSessions, maxBytes, maxAge + SLACK].map(finite);
    this.#now = options.now;
  }

  async get(id: SessionId): Promise<SessionRecord | undefined> {
    const [record, settings] = (await this.#run(GET, keyOfSession(id))) as string[];
    if (record === undefined || settings === undefined) return undefined;
    return { ...(this.#parse(record) as SessionRecord), ...(this.#parse(settings) as SessionSettings) };
  }

  put(id: SessionId, given: SessionRecord): Promise<void> {
    const [record, settings] = divided(given).map((part) => JSON.stringify(part)) as [string, string];
    const share = given.share ?? '';
    return this.#writes.run(id, async () => {
      const bytes = Buffer.byteLength(record) + Buffer.byteLength(settings);
      this.#checkSize(bytes);
      const done = Number(await this.#run(PUT, keyOfSession(id), share, record, settings, bytes, tag()));
      this.#checkRoom(done);
    });
  }

  change(id: SessionId, change: (settings: SessionSettings) => SessionSettings): Promise<SessionSettings | undefined> {
    const key = keyOfSession(id);
    return this.#writes.change(id, 'session', async () => {
      const [size, text, former] = (await this.#run(GET_SETTINGS, key)) as string[];
      if (text === undefined || former === undefined) return undefined;
      const changed = change(this.#parse(text) as SessionSettings);
      const settings = JSON.stringify(changed);
      const bytes = Number(size) + Buffer.byteLength(settings);
      this.#checkSize(bytes);
      const done = Number(await this.#run(CHANGE, key, settings, bytes, former, tag()));
      if (done === -1) return AGAIN;
      this.#checkRoom(done);
      return changed;
    });
  }

  async touch(ids: readonly SessionId[]): Promise<void> {
    for (let at = 0; at < ids.length; at += PORTION)
      await this.#run(TOUCH, ...ids.slice(at, at + PORTION).map(keyOfSession));
  }

  async delete(id: SessionId): Promise<void> {
    await this.#writes.run(id, () => this.#run(DELETE, keyOfSession(id)));
  }

  /** The clock of Redis decides, unless there is another one. */
  #run(script: typeof GET, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#commands.run(script, this.#now?.() ?? '', ...this.#bounds, ...args);
  }

  #parse(text: string): unknown {
    return this.#commands.parse(text, this.#maxRecordBytes);
  }

  #checkSize(bytes: number): void {
    if (bytes > this.#maxRecordBytes)
      throw new SessionStoreFull(`The record of a session must not be larger than ${this.#maxRecordBytes} bytes`);
  }

  #checkRoom(done: number): void {
    if (done === 0) throw new SessionStoreFull('The store has no room: all other sessions are in use');
  }
}

function tag(): string {
  return randomBytes(9).toString('base64url');
}
