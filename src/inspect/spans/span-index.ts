import type { SpanState } from './span.ts';

/** Finds the spans that a later message may belong to, by keys such as its id. */
export class SpanIndex<T extends { readonly state: SpanState }> {
  readonly #spans = new Map<string, Set<T>>();
  readonly #keys = new Map<T, Set<string>>();

  /** @param max the most spans with this key. Above this, the oldest loses the key. */
  add(key: string, span: T, max = Infinity): void {
    let spans = this.#spans.get(key);
    if (!spans) this.#spans.set(key, (spans = new Set()));
    spans.add(span);
    let keys = this.#keys.get(span);
    if (!keys) this.#keys.set(span, (keys = new Set()));
    keys.add(key);
    if (spans.size <= max) return;
    const [oldest] = spans;
    this.#keys.get(oldest!)!.delete(key);
    spans.delete(oldest!);
  }

  /** All spans with a key. */
  all(key: string): readonly T[] {
    return [...(this.#spans.get(key) ?? [])];
  }

  /** The span with a key, if only one span has it, or if only one of several still waits. Undefined otherwise. */
  one(key: string): T | undefined {
    const spans = this.all(key);
    const waiting = spans.filter(({ state }) => state === 'open' || state === 'input_required');
    const candidates = waiting.length > 0 ? waiting : spans;
    return candidates.length === 1 ? candidates[0] : undefined;
  }

  removeKey(key: string): void {
    for (const span of this.#spans.get(key) ?? []) this.#keys.get(span)?.delete(key);
    this.#spans.delete(key);
  }

  /** Forgets a span. */
  remove(span: T): void {
    for (const key of this.#keys.get(span) ?? []) {
      const spans = this.#spans.get(key)!;
      spans.delete(span);
      if (spans.size === 0) this.#spans.delete(key);
    }
    this.#keys.delete(span);
  }
}
