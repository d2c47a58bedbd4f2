import { isUtf8 } from 'node:buffer';

/** The text of UTF-8, with its byte order mark. Undefined if it is not valid. `utf8.browser.ts` replaces this in browsers. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString();
}
