import { programs, startServer } from '../support/process.ts';
import type { Target } from './clients.ts';

/** Starts a server over HTTP. Also returns how to start it over stdio. */
export async function serveBoth(
  http: readonly string[],
  stdio: readonly string[],
): Promise<{ target: Target; stop: () => Promise<unknown> }> {
  const server = await startServer(http);
  return { target: { stdio, url: server.url, sseUrl: server.sseUrl }, stop: () => server.stop() };
}

/** A bridge in front of a server that `node` starts with these arguments. */
export function bridged(child: readonly string[], ...options: string[]): { http: string[]; stdio: string[] } {
  const bridge = (...flags: string[]): string[] => [
    ...programs.everwire,
    'bridge',
    ...options,
    ...flags,
    '--',
    process.execPath,
    ...child,
  ];
  return { http: bridge('--port', '0'), stdio: bridge('--stdio') };
}
