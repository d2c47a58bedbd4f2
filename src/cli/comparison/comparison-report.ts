import type { Comparison } from '../../replay/compare.ts';
import type { NotRepeated } from '../../replay/replay.ts';

/** What differs between two sessions, to show to users. */
export interface ComparisonReport {
  /** What was compared, to show to users. */
  readonly before: string;
  readonly after: string;
  readonly comparison: Comparison;
  /** What was not sent again. */
  readonly notRepeated?: readonly NotRepeated[];
  /** What else the reader must know, such as missing records. */
  readonly notes: readonly string[];
}
