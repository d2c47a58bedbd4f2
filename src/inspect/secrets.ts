/** Header fields and query parameters whose values are masked in files: what is sent to prove who one is. */
const SECRET_NAME =
  /^(proxy-)?authorization$|cookie|token|secret|password|assertion|api[-_]?key|^(code|sig|signature)$/i;
/** Query parameters of a request target. */
const PARAMETER = /[?&]([^=&\s]*)=([^&\s]*)/g;

/** The kinds of secrets, for people. */
export const SECRETS: readonly string[] = ['authorization', 'cookies', 'tokens', 'API keys', 'passwords and secrets'];

/** The start and the end of a text in a line. */
type Place = readonly [start: number, end: number];

/** Whether the value of a header or a parameter is secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** The values of secret parameters in the first line of a request. The line may be unfinished. */
export function secretParameters(line: string): Place[] {
  if (!line.includes('?')) return [];
  return [...line.matchAll(PARAMETER)]
    .filter(([, name]) => isSecretName(name!))
    .map(({ 0: whole, 2: value, index }) => [index + whole.length - value!.length, index + whole.length]);
}
