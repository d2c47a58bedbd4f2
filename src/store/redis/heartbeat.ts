import type { NodeId } from '../state.ts';
import type { Commands } from './commands.ts';

/** How long a node counts as alive after a heartbeat. Milliseconds. */
const ALIVE = 3000;
const INTERVAL = 1000;

/** Tells the other nodes that this one is alive, until it is closed. */
export class Heartbeat {
  readonly #commands: Commands;
  readonly #node: NodeId;
  readonly #join: () => Promise<void>;
  readonly #onbeat: (sentAt: number, lapsed: boolean) => Promise<void>;
  #hasBegun = false;
  #count = 0;
  /** The last heartbeat that Redis has confirmed. */
  #confirmed: string | undefined;
  /** When Redis last had not that one, by `performance.now()`. */
  #lapsed = -Infinity;
  #beating: Promise<void> | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  /**
   * @param join tells the others that this node reads their messages, if it does.
   * @param onbeat called after each heartbeat, with the time when it was sent, and whether Redis may have had none of this
   * node before. If it fails, this is said again.
   */
  constructor(
    commands: Commands,
    node: NodeId,
    join: () => Promise<void>,
    onbeat: (sentAt: number, lapsed: boolean) => Promise<void>,
  ) {
    this.#commands = commands;
    this.#node = node;
    this.#join = join;
    this.#onbeat = onbeat;
    this.#timer = setInterval(() => void this.#beatAndJoin(), INTERVAL);
    this.#timer.unref();
    void this.#beatAndJoin();
  }

  /** Sends a heartbeat. @throws (rejects) StoreUnreachable. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  /**
   * Whether a node is alive, or may be. If Redis may have had no heartbeat of this node, it may have missed those of others,
   * too. So they have some time to give another.
   */
  async isAlive(node: NodeId): Promise<boolean> {
    if (node === this.#node) return true;
    const signs = (await this.#commands.send(['MGET', this.#commands.key(`n:${node}`), this.#key])) as unknown[];
    const [sign, own] = signs;
    if (typeof sign === 'string') return true;
    return typeof own !== 'string' || performance.now() - this.#lapsed < ALIVE;
  }

  /** The others need not wait until this node counts as gone. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#commands.send(['DEL', this.#key]);
  }

  /** If Redis cannot be reached, all nodes know that from their own commands. */
  async #beatAndJoin(): Promise<void> {
    await Promise.allSettled([this.beat(), this.#join()]);
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    const sign = String((this.#count += 1));
    const before = await this.#commands.send(['SET', this.#key, sign, 'PX', String(ALIVE), 'GET']);
    // Redis may have got others whose confirmation was lost, after it had none.
    const mayHaveHadNone = before !== this.#confirmed;
    const lapsed = this.#hasBegun && mayHaveHadNone;
    this.#hasBegun = true;
    // Also at the start: Redis may have come back just before.
    if (mayHaveHadNone) this.#lapsed = performance.now();
    await this.#onbeat(sentAt, lapsed);
    this.#confirmed = sign;
  }

  get #key(): string {
    return this.#commands.key(`n:${this.#node}`);
  }
}
