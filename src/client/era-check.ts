import { causesOf } from '../jsonrpc/causes.ts';
import { isReceived } from '../jsonrpc/errors.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { saysForeign } from '../wire/era-evidence.ts';
import type { Upstream } from '../wire/upstream.ts';

export interface EraCheckOptions {
  /** Asks a server for what each of its era answers. @throws what it answers instead. */
  readonly probe: (upstream: Upstream) => Promise<unknown>;
  /** Sends no more over a connection: the next call gets another. What is in flight is left to be turned away, too. */
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
  readonly #foreign = new WeakSet<Upstream>();
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
    if (!upstream || !turnsAway(error)) return false;
    if (this.#foreign.has(upstream)) return true;
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
      if (turnsAway(error)) {
        this.#foreign.add(upstream);
        this.#options.drop(upstream);
        return true;
      }
    }
    this.#sound = upstream;
    this.#soundAt = Date.now();
    return false;
  }
}

/** Whether an error is that of a server which takes no request of this era: by its status, or by the code for that alone. */
function turnsAway(error: unknown): boolean {
  if (saysForeign(error)) return true;
  if (!isReceived(error)) return false;
  for (const each of causesOf(error))
    if ('code' in each && each.code === McpErrorCode.UnsupportedProtocolVersion) return true;
  return false;
}
