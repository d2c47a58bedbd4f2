import type { ChildTransport } from '../transport/stdio/child.ts';

/** How many lines of a process are remembered. */
const MAX_LINES = 200;
/** How many characters of a process's lines are remembered. */
const MAX_LENGTH = 64 * 1024;

interface Start {
  readonly child: Pick<ChildTransport, 'answered' | 'exit'>;
  readonly lines: string[];
  length: number;
  /** The lines of the failed start before, as long as this one repeats them. */
  repeats: readonly string[] | undefined;
  /** The start before. Undefined if it is no longer needed. */
  before: Start | undefined;
}

/**
 * Passes on the stderr of a command that may be started several times. A command that cannot run is started again to find
 * out its revision, for each call, and at the same time for a probe. Lines at its start are left out if the newest process
 * that has answered or ended did not answer, and had written the same lines.
 */
export function withoutRepeatedStarts(pass: (line: string) => void): (line: string, child: Start['child']) => void {
  const starts = new WeakMap<Start['child'], Start>();
  let newest: Start | undefined;
  return (line, child) => {
    let start = starts.get(child);
    if (!start) {
      const last = lastWithOutcome(newest);
      start = { child, lines: [], length: 0, repeats: last?.child.answered ? undefined : last?.lines, before: newest };
      newest = start;
      starts.set(child, start);
    }
    if (child.answered) return pass(line);
    const { lines, repeats } = start;
    if (repeats?.[lines.length] !== line) start.repeats = undefined;
    start.length += line.length;
    if (lines.length < MAX_LINES && start.length <= MAX_LENGTH) lines.push(line);
    else start.repeats = undefined;
    if (!start.repeats) pass(line);
  };
}

/** The newest start that answered or ended. The starts before it are forgotten. */
function lastWithOutcome(newest: Start | undefined): Start | undefined {
  let start = newest;
  while (start && !start.child.answered && start.child.exit === undefined) start = start.before;
  if (start) start.before = undefined;
  return start;
}
