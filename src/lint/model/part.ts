/** A part that the upper layers found, and how to get its bytes. */
export interface PartOfStream {
  readonly n: number;
  readonly layer: string;
  readonly dir: string;
  readonly range: readonly number[];
  readonly exchange: number | undefined;
  readonly note: string | undefined;
  /** Whether it is too large to be read. */
  readonly isTooLarge: boolean;
  /** Undefined if they are too many, no longer in memory, or missing. */
  bytes(): Uint8Array | undefined;
}

/** Record numbers that are known. */
export function otherRecords(numbers: readonly number[]): readonly number[] {
  return numbers.filter((n) => n > 0);
}
