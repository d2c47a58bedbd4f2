/** Header fields and query parameters whose values are masked in files: what is sent to prove who one is. */
const SECRET_NAME =
  /^(proxy-)?authorization$|cookie|token|secret|password|assertion|api[-_]?key|^(code|sig|signature)$/i;
/** Query parameters of a request target. */
const PARAMETER = /[?&]([^=&\s]*)=([^&\s]*)/g;

/** The kinds of secrets, for people. */
export const SECRETS: readonly string[] = ['authorization', 'cookies', 'tokens', 'API keys', 'passwords and secrets'];

/** The parts of a line of an HTTP head that are secret, as offsets in the line. The line may be unfinished. */
export function secretsIn(line: string, isFirst: boolean): [start: number, end: number][] {
  if (isFirst) {
    if (!line.includes('?')) return [];
    return [...line.matchAll(PARAMETER)]
      .filter(([, name]) => SECRET_NAME.test(name!))
      .map(({ 0: whole, 2: value, index }) => [index + whole.length - value!.length, index + whole.length]);
  }
  const colon = line.indexOf(':');
  if (colon === -1 || !SECRET_NAME.test(line.slice(0, colon).trim())) return [];
  const value = line.slice(colon + 1);
  const start = colon + 1 + value.length - value.trimStart().length;
  return [[start, colon + 1 + value.trimEnd().length]];
}
