/**
 * Whether a value can name a principal. Texts with unpaired surrogates cannot: in UTF-8 all of them become the same character,
 * so two principals could be equal in a store or a sealed id.
 */
export function isPrincipal(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/\p{Surrogate}/u.test(value);
}
