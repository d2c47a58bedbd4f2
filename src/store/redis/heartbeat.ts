import type { NodeId } from '../state.ts';
import type { Commands } from './commands.ts';

/** How long a node counts as alive after a sign of life. Milliseconds. */
const ALIVE = 3000;
const INTERVAL = 1000;

/** Tells the other nodes that this one is alive, until it is closed. */
export class Heartbeat {
  readonly #commands: Commands;
  readonly #node: NodeId;
  readonly #join: () => Promise<void>;
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param join tells the others that this node reads their messages, if it does. */
  constructor(commands: Commands, node: NodeId, join: () => Promise<void>) {
    this.#commands = commands;
    this.#node = node;
    this.#join = join;
    this.#timer = setInterval(() => this.#beat(), INTERVAL);
    this.#timer.unref();
    this.#beat();
  }

  async isAlive(node: NodeId): Promise<boolean> {
    return node === this.#node || (await this.#commands.send(['EXISTS', this.#commands.key(`n:${node}`)])) === 1;
  }

  /** The others need not wait until this node counts as gone. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#commands.send(['DEL', this.#commands.key(`n:${this.#node}`)]);
  }

  /** If Redis cannot be reached, all nodes know that from their own commands. */
  #beat(): void {
    const key = this.#commands.key(`n:${this.#node}`);
    this.#commands.send(['SET', key, '1', 'PX', String(ALIVE)]).catch(() => {});
    this.#join().catch(() => {});
  }
}
