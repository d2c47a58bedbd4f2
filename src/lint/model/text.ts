/** Text of bytes, in Node and in browsers. */

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder();
const latin1 = new TextDecoder('latin1');

/** Undefined if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

/** What is not UTF-8 becomes U+FFFD. */
export function decodeAnyway(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** One character for each byte. */
export function decodeLatin1(bytes: Uint8Array): string {
  return latin1.decode(bytes);
}
