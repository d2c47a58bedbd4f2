/** What a probe saw: that the server obeys, or how it breaks the rule, or why this cannot be said. */
export type Outcome =
  | { readonly kind: 'right' }
  | { readonly kind: 'broken'; readonly seen: string; readonly records: readonly number[] }
  | { readonly kind: 'skipped'; readonly why: string };

export const RIGHT: Outcome = { kind: 'right' };

/** @param records the numbers of the records that show it, the most telling one first. */
export function broken(seen: string, ...records: readonly number[]): Outcome {
  return { kind: 'broken', seen, records };
}

export function skipped(why: string): Outcome {
  return { kind: 'skipped', why };
}

/** Ends a probe that cannot say anything. */
export class Skip extends Error {
  override readonly name = 'Skip';
}
