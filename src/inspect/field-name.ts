import { isSecretName } from './secrets.ts';

/** The fields that say how a body is framed and what it is. */
const KEPT = new Set(['content-length', 'transfer-encoding', 'content-type', 'content-encoding']);

/** What is known of the name of a field, so that it is looked at once. */
export interface FieldName {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isValid: boolean;
  readonly isKept: boolean;
}

const names = new Map<string, FieldName>();
/** A connection repeats the names of its fields, and a hostile one may not fill the memory with them. */
const MAX_NAMES = 1000;
const MAX_NAME = 64;

/** @param written what is before the colon. */
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
