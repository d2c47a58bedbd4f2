/** The longest URL of a peer, in characters. The parser takes half a second for a host name of millions of letters. */
const MAX_URL = 65_536;

/**
 * Parses a URL that a peer has sent. Undefined if it is invalid, or longer than 65,536 characters.
 *
 * @param base for a relative URL.
 */
export function peerUrl(text: string, base?: URL): URL | undefined {
  return text.length <= MAX_URL && URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
}
