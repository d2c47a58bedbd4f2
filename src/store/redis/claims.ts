import { createHash } from 'node:crypto';
import { KnownClaims, type Claims } from '../claims.ts';
import type { NodeId } from '../state.ts';
import { CLAIM, KEEP, KEPT, RELEASE, RENEW } from './claim-scripts.ts';
import type { Commands } from './commands.ts';

/** How long Redis keeps a claim that nobody renews. Milliseconds. */
const TTL = 120_000;
/** How long Redis keeps the text of a claim that nobody renews. Milliseconds. */
const KEPT_TTL = 30 * 60_000;
/** How often claims are renewed. Milliseconds. */
const RENEWAL = 30_000;
/** How many claims one script renews. */
const PORTION = 200;
/**
 * After this time without a heartbeat, this process no longer trusts that it has what it claimed. Milliseconds. The others
 * wait a second longer.
 */
const TRUSTED = 2000;
/** How long after Redis was gone all processes need to send a heartbeat. Milliseconds. */
const ALIVE = 3000;

/** The claims of the processes that use one Redis. They end with the heartbeats of their process. */
export class RedisClaims implements Claims {
  readonly #commands: Commands;
  readonly #node: NodeId;
  readonly #beat: () => Promise<void>;
  readonly #known = new KnownClaims();
  /** The claims in flight, by key. */
  readonly #claiming = new Map<string, Promise<NodeId>>();
  #beaten = -Infinity;
  #renewed = 0;
  /** When Redis last turned out to know nothing of this process, by `performance.now()`. */
  #lapsed = -Infinity;

  /** @param beat sends a heartbeat now. */
  constructor(commands: Commands, node: NodeId, beat: () => Promise<void>) {
    this.#commands = commands;
    this.#node = node;
    this.#beat = beat;
  }

  /** Thousands of requests of one client may ask for it at once. Redis is asked once. */
  claim(key: string): Promise<NodeId> {
    const known = this.#claiming.get(key);
    if (known) return known;
    const claiming = this.#claim(key).finally(() => {
      if (this.#claiming.get(key) === claiming) this.#claiming.delete(key);
    });
    this.#claiming.set(key, claiming);
    return claiming;
  }

  async #claim(key: string): Promise<NodeId> {
    const hash = hashOf(key);
    const ask = async (): Promise<string> => String(await this.#commands.run(CLAIM, hash, this.#node, TTL, KEPT_TTL));
    await this.#whenOthersAreKnown(key);
    let holder = await ask();
    if (holder === '') {
      await this.#beat();
      await this.#whenOthersAreKnown(key);
      holder = await ask();
    }
    if (holder === '') throw new Error('Redis does not know that this process is alive');
    if (holder === this.#node) this.#known.add(key);
    else this.#known.lose(key);
    return holder;
  }

  async release(key: string): Promise<void> {
    this.#known.delete(key);
    // A claim in flight comes before the release.
    this.#claiming.delete(key);
    await this.#commands.run(RELEASE, hashOf(key), this.#node);
  }

  holds(key: string): boolean {
    return this.#known.has(key) && performance.now() - this.#beaten < TRUSTED;
  }

  async keep(key: string, text = ''): Promise<void> {
    await this.#commands.run(KEEP, hashOf(key), this.#node, KEPT_TTL, text);
  }

  async kept(key: string): Promise<string | undefined> {
    return String(await this.#commands.run(KEPT, hashOf(key))) || undefined;
  }

  onlost(listener: (key: string) => void): () => void {
    return this.#known.onlost(listener);
  }

  /**
   * Redis has received a heartbeat.
   *
   * @param sentAt when it was sent, by `performance.now()`.
   * @param lapsed whether it had none for some time, or has lost it, so that others may have taken the claims.
   */
  async beaten(sentAt: number, lapsed: boolean): Promise<void> {
    if (lapsed) this.#lapsed = performance.now();
    if (lapsed || sentAt - this.#renewed > RENEWAL) {
      await this.#renew();
      this.#renewed = sentAt;
    }
    this.#beaten = sentAt;
  }

  /** After Redis was gone, the processes that had claims need time to say so. */
  async #whenOthersAreKnown(key: string): Promise<void> {
    const left = this.#lapsed + ALIVE - performance.now();
    if (left > 0 && !this.#known.has(key)) await new Promise((resolve) => setTimeout(resolve, left));
  }

  async #renew(): Promise<void> {
    const keys = new Map(this.#known.held.map((key) => [hashOf(key), key]));
    const hashes = [...keys.keys()];
    for (let at = 0; at < hashes.length; at += PORTION) {
      const lost = await this.#commands.run(RENEW, this.#node, TTL, KEPT_TTL, ...hashes.slice(at, at + PORTION));
      for (const hash of lost as string[]) this.#known.lose(keys.get(hash)!);
    }
  }
}

/** Keys may be long, and may contain what is nobody's business. */
function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
