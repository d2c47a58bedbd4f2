/** A message of more bytes or characters is parsed in turn with others: it may have thousands of values. */
export const MAX_AT_ONCE = 16 * 1024;
