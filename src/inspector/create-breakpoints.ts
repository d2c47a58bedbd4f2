import type { RuleAction } from '../inspect/breakpoints/breakpoint-api.ts';
import { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';

/** What can be disturbed. */
export interface BreakpointsScope {
  /** How clients are connected. Default: there are none but the page. */
  readonly clients?: 'http' | 'stdio' | undefined;
  /** Kills the processes of servers. Default: there are none. */
  readonly kill?: (() => void) | undefined;
}

/** What rules can do with the responses to clients. */
const FAULTS = {
  http: ['corrupt', 'cut', 'status'],
  stdio: ['corrupt', 'cut'],
} as const satisfies Record<string, readonly RuleAction['type'][]>;

/** Breakpoints for all messages that pass through this process. */
export function createBreakpoints({ clients, kill }: BreakpointsScope): Breakpoints {
  const faults = clients === undefined ? [] : FAULTS[clients];
  return new Breakpoints({ actions: ['hold', 'delay', 'duplicate', 'reorder', 'drop', ...faults], kill });
}
