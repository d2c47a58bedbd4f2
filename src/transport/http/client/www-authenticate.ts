/** One challenge of a `WWW-Authenticate` header. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** The parameters by lower-case name. If one appears twice, the first counts. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Maximum number of characters read from a header. */
const MAX_LENGTH = 16 * 1024;

const SPACE = /[ \t]*/y;
const SEPARATORS = /[ \t,]*/y;
const TOKEN = /[\w!#$%&'*+.^`|~-]+/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/sy;
const TOKEN68 = /[\w.~+/-]+=*(?=[ \t]*(?:,|$))/y;

/**
 * Parses the challenges of a `WWW-Authenticate` header (RFC 9110, section 11.6.1). At a syntax error it stops, and
 * returns the challenges read so far.
 *
 * @param header several headers are joined by commas.
 */
export function parseChallenges(header: string | undefined): readonly Challenge[] {
  if (header === undefined || header.length > MAX_LENGTH) return [];
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(header);
    if (match) at = pattern.lastIndex;
    return match?.[1] ?? match?.[0];
  };
  for (;;) {
    take(SEPARATORS);
    const name = take(TOKEN);
    if (name === undefined) return found;
    const after = at;
    take(SPACE);
    if (found.length > 0 && header[at] === '=') {
      at += 1;
      take(SPACE);
      const quoted = header[at] === '"';
      const value = take(quoted ? QUOTED : TOKEN);
      if (value === undefined) return found;
      const { parameters } = found.at(-1)!;
      const key = name.toLowerCase();
      if (!parameters.has(key)) parameters.set(key, quoted ? value.replace(/\\(.)/gs, '$1') : value);
    } else {
      found.push({ scheme: name.toLowerCase(), parameters: new Map() });
      // Nothing here uses a token68 value, which some schemes have instead of parameters.
      if (at > after) take(TOKEN68);
    }
  }
}

/** The first value of a parameter that is not empty, in any of the challenges. */
export function parameterIn(challenges: readonly Challenge[], name: string): string | undefined {
  return challenges.map(({ parameters }) => parameters.get(name)).find(Boolean);
}

/** Whether a server refuses a credential because it lacks scopes (RFC 6750, section 3.1). */
export function isInsufficientScope(challenges: readonly Challenge[]): boolean {
  return challenges.some(({ parameters }) => parameters.get('error') === 'insufficient_scope');
}
