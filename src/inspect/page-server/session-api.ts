import type { Comparison } from '../../replay/compare.ts';
import type { NotRepeated } from '../../replay/replay.ts';

/** The part of `page-api.ts` about whole sessions. The page imports this file too, so it has types only. */

/** What differs between two sessions. */
export interface SessionComparison extends Comparison {
  /** What was not sent again. Undefined if nothing was replayed. */
  readonly notRepeated?: readonly NotRepeated[] | undefined;
  /** What else the user must know, such as missing records. */
  readonly notes: readonly string[];
}

/** The commands that compare sessions. */
export interface SessionCommands {
  /** Compares two sessions: recordings as texts. Undefined: the records of this inspector. */
  compareSessions(both: {
    readonly before?: string | undefined;
    readonly after?: string | undefined;
    /** What does not count: JSON Pointers and methods of notifications. */
    readonly ignore: readonly string[];
  }): Promise<SessionComparison>;
  /**
   * Sends the requests of a recording to the connected server, over connections of its own. Compares what the server does
   * with what the recorded one did.
   */
  replaySession(recording: {
    readonly before?: string | undefined;
    readonly ignore: readonly string[];
    /** The tools to call too. `*` stands for any characters. Read-only tools are always called. */
    readonly call: readonly string[];
  }): Promise<SessionComparison>;
  /** Ends a replay. */
  endReplay(nothing: object): void;
}
