/**
 * How much the open questions of one client may grow when they are converted for its revision. Each option or block repeats
 * texts of its list or message, so small questions could become very large.
 */
export interface Room {
  /** Of what is repeated, in bytes (estimated). */
  bytes: number;
  /** The fields that options become. */
  fields: number;
}

/** The room of a client that has no open question. */
export function wholeRoom(): Room {
  return { bytes: 16 * 1024 * 1024, fields: 20_000 };
}
