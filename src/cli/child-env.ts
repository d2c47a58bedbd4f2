import type { CommandServer } from '../bridge/config/config.ts';

/**
 * The environment of a command, to be added to this process's own. Withheld variables are undefined, unless the
 * command's own settings name them.
 *
 * @param secrets variables that no command gets.
 */
export function childEnv(
  { env, withheld = [] }: CommandServer,
  secrets: readonly string[] = [],
): Record<string, string | undefined> {
  // On Windows, names are case-insensitive.
  const normalized = (name: string): string => (process.platform === 'win32' ? name.toUpperCase() : name);
  const unset = new Set([...secrets, ...withheld].map(normalized));
  const present = Object.keys(process.env).filter((name) => unset.has(normalized(name)));
  return { ...Object.fromEntries(present.map((name) => [name, undefined])), ...env };
}
