/**
 * Values of the headers `Mcp-Name` and `Mcp-Param-*`, which say again what the body says (2026-07-28,
 * basic/transports/streamable-http: Value Encoding). What plain ASCII cannot carry is Base64 between two markers.
 */

const PREFIX = '=?base64?';
const SUFFIX = '?=';
/** RFC 9110, section 5.5, without obs-text: visible ASCII, spaces and tabs. */
const PLAIN = /^[\t\x20-\x7e]*$/;

/** The header value that carries a string: itself where that is safe, else Base64 of its UTF-8 between the markers. */
export function encodeHeaderValue(value: string): string {
  const ambiguous = value.startsWith(PREFIX) && value.endsWith(SUFFIX);
  if (PLAIN.test(value) && value.trim() === value && !ambiguous) return value;
  return `${PREFIX}${Buffer.from(value).toString('base64')}${SUFFIX}`;
}

/**
 * The string that a header value carries, or undefined if it is malformed: characters that no header may hold, Base64
 * with other characters or wrong padding, bytes that are not UTF-8. A value without both markers stands for itself.
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!PLAIN.test(value)) return undefined;
  const marked = value.startsWith(PREFIX) && value.endsWith(SUFFIX) && value.length >= PREFIX.length + SUFFIX.length;
  if (!marked) return value;
  const base64 = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(base64, 'base64');
  // Node ignores what is not Base64: only what can be written back the same was well-formed.
  if (bytes.toString('base64') !== base64) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
