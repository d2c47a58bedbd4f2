const REDACTED = '[redacted]';
/** Minimum length of a secret to remove. A shorter text may be an ordinary word, and can be guessed anyway. */
const MIN_SECRET = 8;
/** The name of a scheme and credentials, as in `Authorization` (RFC 9110, section 11.4). */
const CREDENTIALS = /\b(bearer|basic|dpop)(\s+)[\w.~+/-]{8,}=*/gi;
/** The user name and password of a URL. They end at the last @ before the path. */
const USER = /(:\/\/)[^\s"'<>`/?#]*@/g;
/** A URL. The length of its scheme is bounded, so that a text of many words with dots takes linear time. */
const URLS = /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`]+/gi;
/** The end of a line, also as an escape sequence: variables often contain keys in that form. */
const LINE_END = /[\r\n]|(?:\\r)?\\n/;

/**
 * Makes a function that removes credentials from a text: the given secrets, `Bearer`, `Basic` and `DPoP` credentials, and
 * user names and passwords in URLs. Secrets are also found in their JSON and URL encodings. Secrets of fewer than 8
 * characters stay.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = new Set(secrets.flatMap(partsOf).flatMap(writtenForms));
  // The longest first, since one may be part of another.
  const forms = [...known].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const form of forms) clean = clean.replaceAll(form, REDACTED);
    return clean.replace(USER, `$1${REDACTED}@`).replace(CREDENTIALS, `$1$2${REDACTED}`);
  };
}

/** A secret and its lines: a server writes to stderr line by line, and a key in PEM has several. */
function partsOf(secret: string): string[] {
  const lines = secret.split(LINE_END).map((line) => line.trim());
  return [...new Set([secret, ...lines])].filter((part) => part.length >= MIN_SECRET);
}

/** A text as it is, in a URL, and in the forms that writers of JSON use (RFC 8259, section 7). */
function writtenForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, escaped);
  const inJson = [json, ascii, json.replace(/[<>&]/g, escaped), ascii.replaceAll('/', '\\/')];
  // A URL has U+FFFD in place of half of a surrogate pair.
  return [text, ...inJson, encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))];
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Removes the queries of URLs from a text: they may hold tokens. */
export function withoutQueries(text: string): string {
  return text.replace(URLS, (url) => url.replace(/\?[^#]*/, `?${REDACTED}`));
}
