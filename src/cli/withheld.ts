/** Variables to be taken away from a process, as this one has them: on Windows they have the same name in any case. */
export function absent(names: readonly string[]): Record<string, undefined> {
  const known = (name: string): string => (process.platform === 'win32' ? name.toUpperCase() : name);
  const taken = new Set(names.map(known));
  const here = Object.keys(process.env).filter((name) => taken.has(known(name)));
  return Object.fromEntries(here.map((name) => [name, undefined]));
}
