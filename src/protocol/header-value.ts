import { decodeBase64, encodeBase64, encodeUtf8 } from '../base/bytes.ts';

/**
 * Values of the headers `Mcp-Name` and `Mcp-Param-*`, which repeat values of the body (2026-07-28,
 * basic/transports/streamable-http: Value Encoding). A value that plain ASCII cannot represent is sent as Base64
 * between two markers.
 */

const PREFIX = '=?base64?';
const SUFFIX = '?=';
/** RFC 9110, section 5.5, without obs-text: visible ASCII, spaces and tabs. */
const PLAIN = /^[\t\x20-\x7e]*$/;

/** The header value for a string: the string itself if it is safe, else its UTF-8 as Base64 between the markers. */
export function encodeHeaderValue(value: string): string {
  const ambiguous = value.startsWith(PREFIX) && value.endsWith(SUFFIX);
  if (PLAIN.test(value) && value.trim() === value && !ambiguous) return value;
  return `${PREFIX}${encodeBase64(encodeUtf8(value))}${SUFFIX}`;
}

/**
 * The string that a header value represents. Undefined if it is malformed: it contains characters that are not allowed
 * in a header, its Base64 has other characters or wrong padding, or its bytes are not UTF-8. A value without both
 * markers is the string itself.
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!PLAIN.test(value)) return undefined;
  const marked = value.startsWith(PREFIX) && value.endsWith(SUFFIX) && value.length >= PREFIX.length + SUFFIX.length;
  if (!marked) return value;
  const bytes = decodeBase64(value.slice(PREFIX.length, -SUFFIX.length));
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
