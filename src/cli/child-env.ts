import type { CommandServer } from '../bridge/config/config.ts';

/**
 * The environment for a command, to be added to ours: undefined for the variables that are withheld from it, unless its own
 * settings name them.
 *
 * @param secrets variables that no command is given.
 */
export function childEnv(
  { env, withheld = [] }: CommandServer,
  secrets: readonly string[] = [],
): Record<string, string | undefined> {
  // On Windows a name is the same in any case.
  const normalized = (name: string): string => (process.platform === 'win32' ? name.toUpperCase() : name);
  const unset = new Set([...secrets, ...withheld].map(normalized));
  const present = Object.keys(process.env).filter((name) => unset.has(normalized(name)));
  return { ...Object.fromEntries(present.map((name) => [name, undefined])), ...env };
}
