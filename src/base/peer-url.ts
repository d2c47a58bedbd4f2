/** The longest URL of a peer, in characters. */
const MAX_URL = 65_536;

/**
 * The longest host of a peer, in characters: a name of DNS has at most 253, and may end with a dot. Node needs time that
 * grows with the square of a name that is not ASCII: two seconds for 180 kB.
 */
const MAX_HOST = 254;

/** The scheme and the slashes before a host, in the lenient ways in which URLs may be written, and the host itself. */
const AUTHORITY = /^[\0- ]*(?:(?:https?|wss?|ftp|file):[/\\]*|[/\\]{2,})([^/\\?#]*)/i;

/**
 * Parses a URL that may come from a peer or a file. Undefined if it is invalid, or longer than 65,536 characters, or if its
 * host is longer than a host can be.
 *
 * @param base for a relative URL.
 */
export function peerUrl(text: string, base?: string | URL): URL | undefined {
  return isShort(text) && URL.canParse(text, base?.toString()) ? new URL(text, base) : undefined;
}

/** Whether `peerUrl` returns a URL. */
export function isPeerUrl(text: string): boolean {
  return isShort(text) && URL.canParse(text);
}

function isShort(text: string): boolean {
  if (text.length > MAX_URL) return false;
  // The parser leaves these out wherever they are.
  const authority = AUTHORITY.exec(text.replace(/[\t\n\r]/g, ''))?.[1];
  if (authority === undefined) return true;
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*/, '');
  return host.replace(/%[\da-f]{2}/gi, '.').length <= MAX_HOST;
}
