import type { NodeId } from './bus.ts';

/**
 * Says which process has something that only one may have at a time, such as the connection of a client to a server. If a
 * process sends no heartbeat, others can claim what it had.
 */
export interface Claims {
  /**
   * Claims something for this process, unless a process that is alive has it.
   *
   * @returns the process that has it now. That is this one, also if it has claimed it before.
   * @throws (rejects) if the store cannot be reached. Then nobody else can claim it either.
   */
  claim(key: string): Promise<NodeId>;
  /** Gives a claim up. Does nothing if another process has it. */
  release(key: string): Promise<void>;
  /** Whether this process certainly has it, without asking the store. If false, `claim` finds out who has it. */
  holds(key: string): boolean;
  /**
   * Stores a text with a claim of this process, for the process that claims the key next, even if this one has ended. It is kept for
   * half an hour after the claim was last renewed. Does nothing if another process has the claim. Default: nothing is kept.
   *
   * @param text undefined removes it.
   */
  keep?(key: string, text: string | undefined): Promise<void>;
  /** The text that was kept last. */
  kept?(key: string): Promise<string | undefined>;
  /**
   * Adds a listener for claims that this process has lost to another one, because it sent no heartbeat for some seconds. Returns
   * a function that removes it.
   */
  onlost(listener: (key: string) => void): () => void;
}

/** The claims of one process, as it knows them. */
export class KnownClaims {
  readonly #held = new Set<string>();
  readonly #listeners = new Set<(key: string) => void>();

  get held(): readonly string[] {
    return [...this.#held];
  }

  has(key: string): boolean {
    return this.#held.has(key);
  }

  add(key: string): void {
    this.#held.add(key);
  }

  delete(key: string): void {
    this.#held.delete(key);
  }

  /** Another process has it. */
  lose(key: string): void {
    if (this.#held.delete(key)) for (const listener of this.#listeners) listener(key);
  }

  onlost(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
