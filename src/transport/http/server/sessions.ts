/** What a session table needs from a session. */
export interface TableSession {
  readonly sessionId?: string | undefined;
  readonly lastSeen: number;
  /** Whether a client is connected now. */
  readonly connected: boolean;
  close(): Promise<void>;
}

export interface SessionTableOptions {
  readonly maxSessions: number;
  /** Milliseconds. */
  readonly idleTimeout: number;
  readonly onerror: (error: Error) => void;
}

/** A full table evicts sessions that were silent for this long (milliseconds) before it refuses new ones. */
const EVICTABLE_AFTER = 60_000;

/** The live sessions of a handler, limited in number. A session that was idle for too long ends. */
export class SessionTable<Session extends TableSession> {
  readonly #sessions = new Map<string, Session>();
  readonly #options: SessionTableOptions;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: SessionTableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** Makes room for one more session. May end the one that was silent longest. Returns false if there is no room. */
  makeRoom(): boolean {
    if (this.#sessions.size < this.#options.maxSessions) return true;
    let oldest: Session | undefined;
    for (const session of this.#sessions.values()) {
      if (!session.connected && (!oldest || session.lastSeen < oldest.lastSeen)) oldest = session;
    }
    if (!oldest || Date.now() - oldest.lastSeen < EVICTABLE_AFTER) return false;
    this.#end(oldest);
    return true;
  }

  add(id: string, session: Session): void {
    this.#sessions.set(id, session);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#sweep(), Math.min(Math.max(this.#options.idleTimeout / 4, 10), 60_000));
      this.#timer.unref?.();
    }
  }

  delete(id: string): void {
    this.#sessions.delete(id);
    if (this.#sessions.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }

  #sweep(): void {
    const before = Date.now() - this.#options.idleTimeout;
    for (const session of this.#sessions.values()) {
      if (session.lastSeen <= before && !session.connected) this.#end(session);
    }
  }

  #end(session: Session): void {
    session.close().catch(this.#options.onerror);
  }
}
