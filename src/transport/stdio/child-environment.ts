type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child process: that of this process, with changes. An undefined value removes a variable. On Windows,
 * `Path` and `PATH` are the same variable, and Node would pass on the first one in alphabetical order.
 */
export function childEnvironment(
  changes: Variables = {},
  own: Variables = process.env,
  platform = process.platform,
): Record<string, string | undefined> {
  if (platform !== 'win32') return { ...own, ...changes };
  const entries = [...Object.entries(own), ...Object.entries(changes)];
  return Object.fromEntries(new Map(entries.map((entry) => [entry[0].toUpperCase(), entry])).values());
}
