const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Replaces `utf8.ts` in browsers. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
