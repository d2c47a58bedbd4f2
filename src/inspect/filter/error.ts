/**
 * A filter is invalid. The message says what to write instead. The mistake is at the characters from `start` to before
 * `end`, which are at least one.
 */
export class FilterError extends Error {
  override readonly name = 'FilterError';
  readonly start: number;
  readonly end: number;

  constructor(message: string, start: number, end: number) {
    super(message);
    this.start = start;
    this.end = end;
  }
}
