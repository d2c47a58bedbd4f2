/** A scheme, a colon, and only the characters of RFC 3986. Percent signs begin two hexadecimal digits. */
const URI = /^[a-z][a-z\d+.-]*:(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})*$/i;

/** Whether a text is an absolute URI (RFC 3986, section 3). Other characters than ASCII must be encoded. */
export function isUri(text: string): boolean {
  return URI.test(text);
}
