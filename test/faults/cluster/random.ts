/** Numbers that depend only on a seed (mulberry32). */
export class Random {
  #state: number;

  /** @param stream gives other numbers from the same seed. */
  constructor(seed: number, stream: string) {
    let hash = 2166136261 ^ seed;
    for (const character of stream) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619);
    this.#state = hash >>> 0;
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return Math.floor(least + this.next() * (most - least + 1));
  }

  of<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)]!;
  }

  /** One of these, each as often as its number says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) if ((left -= weight) < 0) return choice;
    return choices.at(-1)![1];
  }
}
