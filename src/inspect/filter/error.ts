/** A filter cannot be read. The message says what to write instead. */
export class FilterError extends Error {
  override readonly name = 'FilterError';
  /** Where the mistake is in the filter: from this character, */
  readonly start: number;
  /** to before this one. It is at least one character long. */
  readonly end: number;

  constructor(message: string, start: number, end: number) {
    super(message);
    this.start = start;
    this.end = end;
  }
}
