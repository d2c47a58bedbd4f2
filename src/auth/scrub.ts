import { SecretSearch } from './secret-search.ts';
import { MAX_PARTS, MIN_SECRET, type Span } from './single-search.ts';

const REDACTED = '[redacted]';
/** The name of a scheme and credentials, as in `Authorization` (RFC 9110, section 11.4). */
const CREDENTIALS = /\b(bearer|basic|dpop)(\s+)[\w.~+/-]{8,}=*/gi;
/** The user name and password of a URL. They end at the last @ before the path. */
const USER = /(:\/\/)[^\s"'<>`/?#]*@/g;
/** A URL. The length of its scheme is bounded, so that a text of many words with dots takes linear time. */
const URLS = /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`]+/gi;
/** A line end, also as an escape sequence, because environment variables often contain keys in that form. */
const LINE_END = /[\r\n]|(?:\\r)?\\n/;

/**
 * Makes a function that removes credentials from a text: the given secrets, `Bearer`, `Basic` and `DPoP` credentials,
 * and user names and passwords in URLs. It also finds secrets in their JSON and URL encodings, and in JSON Pointers. If a line end cuts a
 * secret, it finds a part of at least 8 characters. Secrets of fewer than 8 characters are not removed.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const withoutSecrets = secretScrubber(secrets);
  return (text) => {
    // Most strings of a large error are short.
    // Stryker disable next-line ConditionalExpression,StringLiteral: a short text stays as it is, so this only saves time
    if (text.length < MIN_SECRET && !text.includes('@')) return text;
    const withoutUsers = replaced(withoutSecrets(text), USER, `$1${REDACTED}@`);
    return replaced(withoutUsers, CREDENTIALS, `$1$2${REDACTED}`);
  };
}

/** Replaces all matches of a global pattern, or the whole text if it has very many: replacing each takes long. */
function replaced(text: string, pattern: RegExp, by: string): string {
  let count = 0;
  // Stryker disable next-line ConditionalExpression: only saves time
  while (count <= MAX_PARTS && pattern.test(text)) count += 1;
  pattern.lastIndex = 0;
  if (count > MAX_PARTS) return REDACTED;
  // Stryker disable next-line ConditionalExpression: only saves time
  return count === 0 ? text : text.replace(pattern, by);
}

/** The same for only the given secrets. A challenge such as `Bearer realm="…"` stays as it is. */
export function secretScrubber(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(partsOf).flatMap(writtenForms))];
  const forwards = new SecretSearch(forms, false);
  const backwards = new SecretSearch(forms, true);
  return (text) => {
    const whole = redacted(text, forwards.find(text, false));
    const withoutBeginnings = redacted(whole, forwards.find(whole, true));
    return redacted(withoutBeginnings, backwards.find(withoutBeginnings, true));
  };
}

/** Replaces these parts of a text, or the whole text if they are not known. Parts that overlap count as one. */
function redacted(text: string, spans: readonly Span[] | undefined): string {
  if (!spans || spans.length > MAX_PARTS) return REDACTED;
  let clean = '';
  let done = 0;
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (start >= done) clean += text.slice(done, start) + REDACTED;
    done = Math.max(done, end);
  }
  return clean + text.slice(done);
}

/** A secret and each of its lines. A server writes to stderr line by line, and a PEM key has several lines. */
function partsOf(secret: string): string[] {
  const lines = secret.split(LINE_END).map((line) => line.trim());
  return [...new Set([secret, ...lines])].filter((part) => part.length >= MIN_SECRET);
}

/** A text as it is, in a URL, and in the forms that JSON encoders use (RFC 8259, section 7). */
function writtenForms(text: string): string[] {
  // A name in a JSON Pointer (RFC 6901, section 3).
  const inPointer = text.replaceAll('~', '~0').replaceAll('/', '~1');
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, escaped);
  const inJson = [json, ascii, json.replace(/[<>&]/g, escaped), ascii.replaceAll('/', '\\/')];
  // In a URL, U+FFFD replaces an unpaired surrogate.
  const url = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
  const form = new URLSearchParams([['', text]]).toString().slice(1);
  const inUrl = [url, url.replaceAll('%20', '+'), form];
  const lowerCase = inUrl.map((each) => each.replace(/%../g, (code) => code.toLowerCase()));
  return [text, inPointer, ...inJson, ...inUrl, ...lowerCase];
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Removes the queries of URLs from a text, because they may contain tokens. */
export function withoutQueries(text: string): string {
  return text.replace(URLS, (url) => url.replace(/\?[^#]*/, `?${REDACTED}`));
}
