import { quotedValue } from '../../src/inspect/filter/tokens.ts';
import type { CallStats } from './call-stats.ts';

/** The filter that shows the calls of a method or tool, with further terms. */
export function callFilter(
  { method, tool, dir }: CallStats,
  { side, isBothWays, terms = [] }: { side?: string | undefined; isBothWays: boolean; terms?: readonly string[] },
): string {
  const answer = dir === 'c>s' ? 's>c' : 'c>s';
  return [
    `method:${quotedValue(method)}`,
    tool === undefined ? '' : `tool:${quotedValue(tool)}`,
    side === undefined ? '' : `side:${side}`,
    // Both sides may send such requests.
    isBothWays ? `(dir:${dir} kind:request or dir:${answer} -kind:request)` : '',
    ...terms,
  ]
    .filter(Boolean)
    .join(' ');
}

/** The term for calls that ended with an error, as `CallStats` counts them. */
export const ERRORS = '(state:failed or state:unanswered or body:$.result.isError=true)';
