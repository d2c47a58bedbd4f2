/** A scheme and a colon. */
const SCHEME = /^[a-z][a-z\d+.-]*:/i;
/** What RFC 3986 does not allow: other characters, and percent signs without two hexadecimal digits. */
const WRONG = /[^\w.~:/?#[\]@!$&'()*+,;=%-]|%(?![\da-f]{2})/i;

/** Whether a text is an absolute URI (RFC 3986, section 3). Other characters than ASCII must be encoded. */
export function isUri(text: string): boolean {
  return SCHEME.test(text) && !WRONG.test(text);
}
