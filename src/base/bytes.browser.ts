/** Bytes and text, with what browsers have. Replaces `bytes.ts` there. */

const encoder = new TextEncoder();
/** How many characters `String.fromCharCode` gets at once. Each one is an argument. */
const AT_ONCE = 8192;

export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

export function allocate(length: number): Uint8Array {
  return new Uint8Array(length);
}

export function decodeLatin1(bytes: Uint8Array, end = bytes.length): string {
  let text = '';
  for (let at = 0; at < end; at += AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, Math.min(end, at + AT_ONCE)));
  return text;
}

export function encodeBase64(bytes: Uint8Array): string {
  return btoa(decodeLatin1(bytes));
}

export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    const characters = atob(text);
    // `atob` accepts spaces and missing padding.
    return btoa(characters) === text ? bytesOfBinary(characters) : undefined;
  } catch {
    return undefined;
  }
}

/** The bytes of a string in which each character stands for one, as `atob` returns it. */
export function bytesOfBinary(characters: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(characters.length);
  // `Uint8Array.from` takes thirty times as long.
  for (let at = 0; at < characters.length; at += 1) bytes[at] = characters.charCodeAt(at);
  return bytes;
}
