import type { LoggedOut, LogoutOptions } from './log-out.ts';

/** `logOut` for pages, which load its code when it is called. */
export async function logOut(options: LogoutOptions): Promise<readonly LoggedOut[]> {
  return (await import('./log-out.ts')).logOut(options);
}
