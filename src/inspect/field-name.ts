import { isSecretName } from './secrets.ts';

/** The fields that say how a body is framed, encoded and typed. */
const KEPT = new Set(['content-length', 'transfer-encoding', 'content-type', 'content-encoding']);

/** What is known about a field name. Kept, so that each name is checked only once. */
export interface FieldName {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isValid: boolean;
  readonly isKept: boolean;
}

const names = new Map<string, FieldName>();
/** The limits of what is kept: a hostile peer may send ever new names. */
const MAX_NAMES = 1000;
const MAX_NAME = 64;

/** @param written what stands before the colon. */
export function fieldName(written: string): FieldName {
  const known = names.get(written);
  if (known) return known;
  const name = written.trim().toLowerCase();
  const isValid = /^[!#$%&'*+.^_`|~\w-]+$/.test(written);
  // A request line has spaces, and may have a colon.
  const isSecret = isSecretName(name) && !/\s/.test(name);
  const found = { name, isSecret, isValid, isKept: KEPT.has(name) };
  // A copy, because a slice of a line keeps the whole line in memory.
  if (names.size < MAX_NAMES && written.length <= MAX_NAME)
    names.set(Buffer.from(written, 'latin1').toString('latin1'), found);
  return found;
}
