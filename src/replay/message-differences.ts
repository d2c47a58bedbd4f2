import { inTurns } from '../base/in-turns.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';
import { comparable } from './comparable.ts';
import { Groups } from './groups.ts';
import type { ServerMessage } from './session-requests.ts';

/** Messages of a server that two sessions have at different places, or that only one of them has. */
export interface MessagePair {
  readonly method: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** A message without what counts only in one session, and its canonical text. */
interface Comparable {
  readonly method: string;
  readonly params: unknown;
  readonly text: string;
}

/** The messages of one place, such as those that came with a request, that the other session has not. */
export class Unmatched {
  #before: Comparable[];
  #after: Comparable[];

  private constructor(before: Comparable[], after: Comparable[]) {
    this.#before = before;
    this.#after = after;
    Unmatched.cancelOut([this]);
  }

  static async between(before: readonly ServerMessage[], after: readonly ServerMessage[]): Promise<Unmatched> {
    return new Unmatched(await comparableMessages(before), await comparableMessages(after));
  }

  /**
   * Removes the messages that both sessions have, at any of these places. Over stdio nothing says to which request a
   * message belongs, and over HTTP a message on a stream of its own may come earlier or later.
   */
  static cancelOut(places: readonly Unmatched[]): void {
    const counts = new Map<string, number>();
    for (const place of places) for (const { text } of place.#after) counts.set(text, (counts.get(text) ?? 0) + 1);
    const taken = new Map<string, number>();
    for (const place of places) {
      place.#before = place.#before.filter(({ text }) => {
        const had = taken.get(text) ?? 0;
        if (had === (counts.get(text) ?? 0)) return true;
        taken.set(text, had + 1);
        return false;
      });
    }
    for (const place of places) {
      place.#after = place.#after.filter(({ text }) => {
        const had = taken.get(text) ?? 0;
        if (had > 0) taken.set(text, had - 1);
        return had === 0;
      });
    }
  }

  /** What is left: pairs of messages of the same method, and messages that only one session has. */
  pairs(): MessagePair[] {
    const after = new Groups<Comparable>();
    for (const each of this.#after) after.add(each.method, each);
    const pairs = this.#before.map(({ method, params }): MessagePair => {
      return { method, before: params, after: after.take(method)?.params };
    });
    const left = new Set(after.left());
    const others = this.#after.filter((each) => left.has(each));
    return [...pairs, ...others.map(({ method, params }) => ({ method, before: undefined, after: params }))];
  }
}

async function comparableMessages(messages: readonly ServerMessage[]): Promise<Comparable[]> {
  const found: Comparable[] = [];
  await inTurns(messages, ({ method, params }) => {
    const compared = comparable(params);
    found.push({ method, params: compared, text: `${method} ${canonicalJson(compared)}` });
  });
  return found;
}
