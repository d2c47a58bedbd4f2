/** Bytes and text, with Node's functions, which are the fastest. `bytes.browser.ts` replaces this file in browsers. */

/** The UTF-8 of a text. */
export function encodeUtf8(text: string): Uint8Array {
  return Buffer.from(text);
}

/** Bytes whose content is not set. */
export function allocate(length: number): Uint8Array {
  return Buffer.allocUnsafe(length);
}

/** One character for each byte before `end`. */
export function decodeLatin1(bytes: Uint8Array, end = bytes.length): string {
  return asBuffer(bytes).toString('latin1', 0, end);
}

export function encodeBase64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('base64');
}

/** @returns undefined if the text is not Base64 with the right padding. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Node ignores characters that are not Base64. So a text is valid only if encoding gives the same text again.
  return bytes.toString('base64') === text ? bytes : undefined;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
