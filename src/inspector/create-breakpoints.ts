import { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { killGroups } from '../transport/stdio/process-group.ts';

/** What can be disturbed. */
export interface BreakpointsScope {
  /** Whether there are HTTP responses to clients. */
  readonly http: boolean;
  /** Whether servers are child processes of this process. */
  readonly processes: boolean;
}

/** Breakpoints for all messages that pass through this process. */
export function createBreakpoints({ http, processes }: BreakpointsScope): Breakpoints {
  return new Breakpoints({
    actions: [
      'hold',
      'delay',
      'duplicate',
      'reorder',
      'drop',
      ...(http ? (['corrupt', 'cut', 'status'] as const) : []),
    ],
    kill: processes ? killGroups : undefined,
  });
}
