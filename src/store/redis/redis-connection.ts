import type { Commands } from './commands.ts';

/**
 * The connection of a client to Redis, by the id that Redis has given it. A user of Redis may be forbidden to ask for it. Then
 * nothing is known.
 */
export class RedisConnection {
  readonly #commands: Commands;
  #id: string | undefined;
  /** When it was new, by `performance.now()`. */
  #since = 0;
  #isRefused = false;

  constructor(commands: Commands) {
    this.#commands = commands;
  }

  /**
   * The id of the connection. Undefined if it is another one than at the last look, or not known.
   *
   * @throws (rejects) StoreUnreachable.
   */
  async look(): Promise<string | undefined> {
    const id = await this.#ask(['CLIENT', 'ID']);
    if (id === undefined) return undefined;
    if (id === this.#id) return id;
    this.#id = id;
    this.#since = performance.now();
    return undefined;
  }

  /**
   * Whether Redis certainly has another connection no longer. Only a connection to the same server knows that.
   *
   * @param age of this connection at least, in milliseconds.
   * @throws (rejects) StoreUnreachable.
   */
  async knowsClosed(other: string, age: number): Promise<boolean> {
    const own = this.#id;
    if (own === undefined || performance.now() - this.#since < age) return false;
    const list = await this.#ask(['CLIENT', 'LIST', 'ID', own, other]);
    if (list === undefined) return false;
    const ids = new Set(Array.from(list.matchAll(/^id=(\d+) /gm), ([, id]) => id));
    return ids.has(own) && !ids.has(other);
  }

  async #ask(command: string[]): Promise<string | undefined> {
    if (this.#isRefused) return undefined;
    try {
      return String(await this.#commands.send(command));
    } catch (error) {
      if (!this.#commands.reachable) throw error;
      // Redis may log each refusal.
      this.#isRefused = true;
      return undefined;
    }
  }
}
