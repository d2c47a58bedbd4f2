const REDACTED = '[redacted]';
/** What is shorter cannot be told from a word, and can be guessed. */
const MIN_SECRET = 8;
/** What follows the name of a scheme in `Authorization` (RFC 9110, section 11.4). */
const CREDENTIALS = /\b(bearer|basic|dpop)(\s+)[\w.~+/-]{8,}=*/gi;
/** A URL from its scheme on, which is short: what begins a word at each of many dots must not be read to its end each time. */
const URLS = /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`]+/gi;
/** The end of a line; variables often have it written out. */
const LINE_END = /\r\n?|\n|\\r\\n|\\n/;

/**
 * Makes a function that removes credentials from a text: the known secrets, also as they are written in JSON or in a URL,
 * what follows `Bearer` and the like, and user names and passwords of URLs. Secrets of fewer than 8 characters stay.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = new Set(secrets.flatMap(partsOf).flatMap(writtenForms));
  // The longest first: one may be part of another.
  const forms = [...known].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const form of forms) clean = clean.replaceAll(form, REDACTED);
    return clean.replace(URLS, withoutUser).replace(CREDENTIALS, `$1$2${REDACTED}`);
  };
}

/** A secret and its lines: what a server writes to stderr, a key in PEM among it, comes line by line. */
function partsOf(secret: string): string[] {
  const lines = secret.split(LINE_END).map((line) => line.trim());
  return [...new Set([secret, ...lines])].filter((part) => part.length >= MIN_SECRET);
}

/** A text as it is, as it stands in an address, and as writers of JSON have it (RFC 8259, section 7). */
function writtenForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, escaped);
  const inJson = [json, ascii, json.replace(/[<>&]/g, escaped), ascii.replaceAll('/', '\\/')];
  // Half of a surrogate pair can be in no address.
  const inAddress = /\p{Surrogate}/u.test(text) ? [] : [encodeURIComponent(text)];
  return [text, ...inJson, ...inAddress];
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Before the host of a URL there may be a password; the last @ ends it, as URLs are read. */
function withoutUser(url: string): string {
  return url.replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, `$1${REDACTED}@`);
}

/** Removes the queries of URLs from a text: they may hold tokens. */
export function withoutQueries(text: string): string {
  return text.replace(URLS, (url) => url.replace(/\?[^#]*/, `?${REDACTED}`));
}
