/** The syntax of HTTP header names and values. */

/** RFC 9110, section 5.6.2: 1*tchar. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** RFC 9110, section 5.5: visible characters, spaces and tabs, and obs-text. */
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Whether a header can have this name. */
export function isHeaderName(name: string): boolean {
  return NAME.test(name);
}

/** Whether a header can have this value. */
export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}
