/** An environment for a child process that lacks these variables of ours. On Windows a name is the same in any case. */
export function unsetVariables(names: readonly string[]): Record<string, undefined> {
  const normalized = (name: string): string => (process.platform === 'win32' ? name.toUpperCase() : name);
  const unset = new Set(names.map(normalized));
  const present = Object.keys(process.env).filter((name) => unset.has(normalized(name)));
  return Object.fromEntries(present.map((name) => [name, undefined]));
}
