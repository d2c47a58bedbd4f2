/** The longest URL of a peer, in characters. With fewer, no host takes long to parse. */
const MAX_URL = 8192;

/** Replaces `peer-url.ts` in browsers, where each byte of the code is loaded. */
export function peerUrl(text: string, base?: string | URL): URL | undefined {
  return text.length <= MAX_URL && URL.canParse(text, base?.toString()) ? new URL(text, base) : undefined;
}

export function isPeerUrl(text: string): boolean {
  return peerUrl(text) !== undefined;
}
