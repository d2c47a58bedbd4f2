import { saysForeign } from '../wire/era-evidence.ts';
import type { Upstream } from '../wire/upstream.ts';

export interface EraCheckOptions {
  /** Asks a server for what each of its era answers. @throws what it answers instead. */
  readonly probe: (upstream: Upstream) => Promise<unknown>;
  /** Closes a connection, at once: the next call gets another. */
  readonly drop: (upstream: Upstream) => void;
}

/** After a server has shown that it is what it was, it is not asked again for so long, in milliseconds. */
const INTERVAL = 5000;
/**
 * Finds out whether a server at an address still speaks the era in which it was connected to. One that was replaced by
 * another turns away every request, each for a reason of its own; so where a request is turned away as such a server might,
 * it is asked for what each of its era answers, and where that is turned away too, the connection is lost.
 */
export class EraCheck {
  readonly #options: EraCheckOptions;
  #running: Promise<boolean> | undefined;
  /** What was shown to speak another era. */
  #foreign: Upstream | undefined;
  /** What was shown to speak its own last, and when. */
  #sound: Upstream | undefined;
  #soundAt = 0;

  constructor(options: EraCheckOptions) {
    this.#options = options;
  }

  /**
   * Whether a request failed because the server speaks another era by now: it did not run then, and may be sent again over
   * another connection.
   *
   * @param upstream over which it was sent.
   */
  async explains(error: unknown, upstream: Upstream | undefined): Promise<boolean> {
    if (!upstream || !saysForeign(error)) return false;
    if (this.#foreign === upstream) return true;
    if (upstream.closed) return false;
    if (this.#sound === upstream && Date.now() - this.#soundAt < INTERVAL) return false;
    this.#running ??= this.#check(upstream).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #check(upstream: Upstream): Promise<boolean> {
    try {
      await this.#options.probe(upstream);
    } catch (error) {
      if (saysForeign(error)) {
        this.#foreign = upstream;
        this.#options.drop(upstream);
        return true;
      }
    }
    this.#sound = upstream;
    this.#soundAt = Date.now();
    return false;
  }
}
