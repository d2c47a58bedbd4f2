import { createHash } from 'node:crypto';
import { idlePause } from '../../base/wait.ts';
import { KnownClaims, type Claims } from '../claims.ts';
import type { NodeId } from '../state.ts';
import { CLAIM, KEEP, KEPT, RELEASE, RENEW } from './claim-scripts.ts';
import { StoreUnreachable, type Commands } from './commands.ts';
import { ALIVE, TRUSTED } from './heartbeat.ts';

/** How long Redis keeps a claim that nobody renews. Milliseconds. */
const TTL = 120_000;
/** How long Redis keeps the text of a claim that nobody renews. Milliseconds. */
const KEPT_TTL = 30 * 60_000;
/** How often claims are renewed. Milliseconds. */
const RENEWAL = 30_000;
/** How many claims one script renews. */
const PORTION = 200;
/** The pause between two attempts to reach Redis. Milliseconds. */
const PAUSE = 50;
/** How often a claim is asked for if Redis does not know the newest heartbeat, or its replies are too old to be trusted. */
const ATTEMPTS = 3;

/** What claims need to know of the heartbeats of their process. */
interface Heartbeats {
  /** Sends one now. */
  beat(): Promise<void>;
  /** As in `Heartbeat`. After this time without one, this process no longer trusts that it has what it claimed. */
  readonly trusted: number;
  /** As in `Heartbeat`. */
  readonly confirmed: string | undefined;
}

/** The claims of the processes that use one Redis. They end with the heartbeats of their process. */
export class RedisClaims implements Claims {
  readonly #commands: Commands;
  readonly #node: NodeId;
  readonly #heartbeats: Heartbeats;
  readonly #known = new KnownClaims();
  /** The claims in flight, by key. */
  readonly #claiming = new Map<string, Promise<NodeId>>();
  #beaten = -Infinity;
  #renewed = 0;
  /** When Redis last turned out to know nothing of this process, by `performance.now()`. */
  #lapsed = -Infinity;

  constructor(commands: Commands, node: NodeId, heartbeats: Heartbeats) {
    this.#commands = commands;
    this.#node = node;
    this.#heartbeats = heartbeats;
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
    let { confirmed } = this.#heartbeats;
    let holder = await this.#ask(key);
    for (let attempt = 1; holder === '' && attempt < ATTEMPTS; attempt += 1) {
      // A heartbeat that came to Redis before this claim has been confirmed meanwhile. Another one would make other claims wait.
      if (this.#heartbeats.confirmed === confirmed) await this.#heartbeats.beat();
      ({ confirmed } = this.#heartbeats);
      holder = await this.#ask(key);
    }
    if (holder === '') throw new Error('Redis does not know that this process is alive');
    if (holder === this.#node) this.#known.add(key);
    else this.#known.lose(key);
    return holder;
  }

  /** Asks Redis until the reply is new enough to be trusted. */
  async #ask(key: string): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#whenOthersAreKnown(key);
      const asked = performance.now();
      const holder = await this.#askSoon(key);
      if (holder !== this.#node || performance.now() - asked < this.#heartbeats.trusted || attempt === ATTEMPTS)
        return holder;
      await this.#heartbeats.beat();
    }
  }

  /** If this process has the key, but cannot reach Redis, it waits as long as others might take it. */
  async #askSoon(key: string): Promise<string> {
    for (;;) {
      try {
        const { confirmed = '' } = this.#heartbeats;
        const times = [TTL, KEPT_TTL, ALIVE, ALIVE - TRUSTED];
        return String(await this.#commands.run(CLAIM, hashOf(key), this.#node, ...times, confirmed));
      } catch (error) {
        const mayBeTaken = this.#known.has(key) && performance.now() - this.#beaten < ALIVE;
        if (!(error instanceof StoreUnreachable) || !mayBeTaken) throw error;
        await idlePause(PAUSE);
      }
    }
  }

  async release(key: string): Promise<void> {
    this.#known.delete(key);
    // A claim in flight comes before the release.
    this.#claiming.delete(key);
    await this.#commands.run(RELEASE, hashOf(key), this.#node);
  }

  holds(key: string): boolean {
    return this.#known.has(key) && performance.now() - this.#beaten < this.#heartbeats.trusted;
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

  /** After Redis was unreachable, the processes that had claims need time to say so. */
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
