import type { Middleware } from '../core/exchange.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import type { HttpHandler } from '../transport/http/server/handler.ts';
import { killGroups } from '../transport/stdio/process-group.ts';

/**
 * Breakpoints for the page of the inspector, if there will be one.
 *
 * @param hasProcesses whether a server is a process of this one.
 */
export async function breakpointsFor(
  { inspect, stdio }: { readonly inspect?: boolean; readonly stdio?: boolean },
  hasProcesses: boolean,
): Promise<Breakpoints | undefined> {
  if (!inspect) return undefined;
  const { createBreakpoints } = await import('../inspector/create-breakpoints.ts');
  return createBreakpoints({ clients: stdio ? 'stdio' : 'http', kill: hasProcesses ? killGroups : undefined });
}

/** Lets the page of the inspector hold what passes, if there is one. */
export async function interception(breakpoints: Breakpoints | undefined): Promise<Middleware[]> {
  return breakpoints ? [(await import('../inspector/intercept.ts')).intercept(breakpoints)] : [];
}

/** Lets the rules of the inspector's page disturb responses, if there is a page. */
export async function httpFaults(breakpoints: Breakpoints | undefined, handler: () => HttpHandler) {
  if (!breakpoints) return undefined;
  const { HttpFaults } = await import('../inspector/http-faults.ts');
  return new HttpFaults(breakpoints, handler);
}
